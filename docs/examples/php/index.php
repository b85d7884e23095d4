<?php
// PHP: a page with a form for two photos, and the result of the comparison.
//   FACEMATCH_KEY=... php -S 127.0.0.1:8000 index.php
// Requires the extension curl. Set upload_max_filesize=10M and post_max_size=21M in php.ini.

declare(strict_types=1);

/** Returns the message for the user about two uploaded files. */
function verify(array $one, array $two): string
{
    foreach ([$one, $two] as $file) {
        if ($file['error'] === UPLOAD_ERR_INI_SIZE) {
            return 'A photo is too large.';
        }
        if ($file['error'] !== UPLOAD_ERR_OK || !is_uploaded_file($file['tmp_name'])) {
            return 'Choose two photos.';
        }
    }
    $server = getenv('FACEMATCH_URL') ?: 'http://127.0.0.1:8080';
    $request = curl_init($server . '/API/v1.0/face/match/upload');
    curl_setopt_array($request, [
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 45,
        // The key stays on this server.
        CURLOPT_HTTPHEADER => ['x-api-key: ' . getenv('FACEMATCH_KEY')],
        // An array becomes multipart/form-data, and curl writes the Content-Type with the boundary.
        CURLOPT_POSTFIELDS => [
            'image1' => new CURLFile($one['tmp_name'], null, 'photo'),
            'image2' => new CURLFile($two['tmp_name'], null, 'photo'),
        ],
    ]);
    $body = curl_exec($request);
    $status = curl_getinfo($request, CURLINFO_RESPONSE_CODE);
    $result = is_string($body) ? json_decode($body, true) : null;
    if (!is_array($result)) {
        return 'The face service is not reachable.';
    }
    if ($status !== 200) {
        // After 413, 415 and 422 the user can send other photos.
        return in_array($status, [413, 415, 422], true) ? $result['detail'] : 'Please try again later.';
    }
    return $result['match'] ? 'The photos match.' : 'The photos do not match.';
}

$message = $_SERVER['REQUEST_METHOD'] === 'POST'
    ? verify($_FILES['image1'] ?? ['error' => UPLOAD_ERR_NO_FILE], $_FILES['image2'] ?? ['error' => UPLOAD_ERR_NO_FILE])
    : '';
?>
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Compare two photos</title>
<form method="post" enctype="multipart/form-data">
  <label>First photo <input type="file" name="image1" accept="image/jpeg,image/png,image/webp" required></label>
  <label>Second photo <input type="file" name="image2" accept="image/jpeg,image/png,image/webp" required></label>
  <button>Compare</button>
</form>
<p role="status"><?= htmlspecialchars($message) ?></p>
