// Compares two files: java Match.java one.jpg two.jpg. java.net.http does not support forms, so the program writes the
// body itself. It writes bytes, because converting an image to a String would damage it. Every line ends with CRLF.
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.*;
import java.nio.file.*;

class Match {
  public static void main(String[] files) throws Exception {
    String boundary = "facematch-" + System.nanoTime();
    var body = new ByteArrayOutputStream();
    for (int i = 0; i < 2; i++) {
      body.write(("--" + boundary + "\r\nContent-Disposition: form-data; name=\"image" + (i + 1)
          + "\"; filename=\"photo\"\r\n\r\n").getBytes());
      body.write(Files.readAllBytes(Path.of(files[i])));
      body.write("\r\n".getBytes());
    }
    body.write(("--" + boundary + "--\r\n").getBytes());
    var request = HttpRequest.newBuilder(URI.create(System.getenv("FACEMATCH_URL") + "/API/v1.0/face/match/upload"))
        .header("x-api-key", System.getenv("FACEMATCH_KEY"))
        .header("Content-Type", "multipart/form-data; boundary=" + boundary)
        .POST(HttpRequest.BodyPublishers.ofByteArray(body.toByteArray())).build();
    System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
  }
}
