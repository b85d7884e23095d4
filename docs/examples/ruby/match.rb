# Compares two files: ruby match.rb one.jpg two.jpg. Without 'multipart/form-data', set_form would send a URL-encoded
# form. The files are opened in binary mode.
require 'net/http'

url = URI("#{ENV['FACEMATCH_URL']}/API/v1.0/face/match/upload")
request = Net::HTTP::Post.new(url, 'x-api-key' => ENV['FACEMATCH_KEY'])
photos = ARGV.first(2).map.with_index(1) { |name, i| ["image#{i}", File.open(name, 'rb')] }
request.set_form(photos, 'multipart/form-data')
puts Net::HTTP.start(url.host, url.port, use_ssl: url.scheme == 'https') { |http| http.request(request) }.body
