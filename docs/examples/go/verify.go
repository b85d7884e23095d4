// Command verify compares two photos.
//
//	FACEMATCH_KEY=... go run verify.go passport.jpg selfie.jpg
//
// The exit code is 0 for a match, 1 for none, 2 if the photos could not be compared. It waits and retries when the server
// is busy, as Retry-After says.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strconv"
	"time"
)

const attempts = 3

// result has the members that this program needs, of a comparison and of an error.
type result struct {
	Match      bool    `json:"match"`
	Confidence float64 `json:"confidence_percent"`
	Threshold  float64 `json:"threshold_percent"`
	Warnings   []struct {
		Detail string `json:"detail"`
	} `json:"warnings"`
	Code      string `json:"code"`
	Detail    string `json:"detail"`
	RequestID string `json:"request_id"`
}

func main() {
	if len(os.Args) != 3 {
		fail("usage: verify IMAGE1 IMAGE2")
	}
	form, contentType, err := formOf(os.Args[1], os.Args[2])
	if err != nil {
		fail(err.Error())
	}
	answer, err := send(form, contentType)
	if err != nil {
		fail(err.Error())
	}
	for _, warning := range answer.Warnings {
		fmt.Fprintln(os.Stderr, warning.Detail)
	}
	if !answer.Match {
		fmt.Printf("No match (%.1f %% is below the threshold of %g %%)\n", answer.Confidence, answer.Threshold)
		os.Exit(1)
	}
	fmt.Printf("Match (%.1f %% ≥ %g %%)\n", answer.Confidence, answer.Threshold)
}

// formOf returns the body of a form with both images, and its Content-Type, which has the boundary.
func formOf(paths ...string) ([]byte, string, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i, path := range paths {
		photo, err := os.ReadFile(path)
		if err != nil {
			return nil, "", err
		}
		part, err := form.CreateFormFile(fmt.Sprintf("image%d", i+1), "photo")
		if err != nil {
			return nil, "", err
		}
		if _, err := part.Write(photo); err != nil {
			return nil, "", err
		}
	}
	err := form.Close()
	return body.Bytes(), form.FormDataContentType(), err
}

// send posts the form until the server has time for it, at most three times.
func send(form []byte, contentType string) (*result, error) {
	server := os.Getenv("FACEMATCH_URL")
	if server == "" {
		server = "http://127.0.0.1:8080"
	}
	client := &http.Client{Timeout: 45 * time.Second}
	for attempt := 1; ; attempt++ {
		request, err := http.NewRequest("POST", server+"/API/v1.0/face/match/upload", bytes.NewReader(form))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", contentType)
		request.Header.Set("x-api-key", os.Getenv("FACEMATCH_KEY"))
		response, err := client.Do(request)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			return nil, err
		}
		var answer result
		if err := json.Unmarshal(body, &answer); err != nil {
			return nil, fmt.Errorf("%s, and no JSON: is a proxy in between?", response.Status)
		}
		switch {
		case response.StatusCode == http.StatusOK:
			return &answer, nil
		case (response.StatusCode == 429 || response.StatusCode == 503) && attempt < attempts:
			seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
			time.Sleep(time.Duration(max(seconds, 1)) * time.Second)
		default:
			return nil, fmt.Errorf("%s: %s (request %s)", answer.Code, answer.Detail, answer.RequestID)
		}
	}
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(2)
}
