// Compares two files: mcs -r:System.Net.Http match.cs && mono match.exe one.jpg two.jpg.
// Every image needs a file name; a part without one is a text field.
using System;
using System.IO;
using System.Net.Http;

static class Match {
  static void Main(string[] files) {
    var form = new MultipartFormDataContent();
    for (var i = 0; i < 2; i++) form.Add(new ByteArrayContent(File.ReadAllBytes(files[i])), "image" + (i + 1), "photo");
    var client = new HttpClient();
    client.DefaultRequestHeaders.Add("x-api-key", Environment.GetEnvironmentVariable("FACEMATCH_KEY"));
    var url = Environment.GetEnvironmentVariable("FACEMATCH_URL") + "/API/v1.0/face/match/upload";
    Console.WriteLine(client.PostAsync(url, form).Result.Content.ReadAsStringAsync().Result);
  }
}
