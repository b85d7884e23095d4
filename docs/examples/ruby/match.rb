# Compares two files: ruby match.rb one.jpg two.jpg. With multipart/form-data, set_form sends files; otherwise Ruby
# sends another kind of form. The files are opened as binary.
require 'net/http'

url = URI("#{ENV['FACEMATCH_URL']}/API/v1.0/face/match/upload")
request = Net::HTTP::Post.new(url, 'x-api-key' => ENV['FACEMATCH_KEY'])
photos = ARGV.first(2).map.with_index(1) { |name, i| ["image#{i}", File.open(name, 'rb')] }
request.set_form(photos, 'multipart/form-data')
puts Net::HTTP.start(url.host, url.port, use_ssl: url.scheme == 'https') { |http| http.request(request) }.body
