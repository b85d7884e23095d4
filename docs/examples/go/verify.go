// Command verify compares two photos.
//
//	FACEMATCH_KEY=... go run verify.go passport.jpg selfie.jpg
//
// The exit code is 0 for a match, 1 for no match, and 2 if the photos could not be compared. If the server is busy, the
// program waits for the time in Retry-After and tries again.
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

// result has the members of a comparison and of an error that this program needs.
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
	reply, err := send(form, contentType)
	if err != nil {
		fail(err.Error())
	}
	for _, warning := range reply.Warnings {
		fmt.Fprintln(os.Stderr, warning.Detail)
	}
	if !reply.Match {
		fmt.Printf("No match (%.1f %% is below the threshold of %g %%)\n", reply.Confidence, reply.Threshold)
		os.Exit(1)
	}
	fmt.Printf("Match (%.1f %% ≥ %g %%)\n", reply.Confidence, reply.Threshold)
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

// send posts the form, and tries up to three times if the server is busy.
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
		var reply result
		if err := json.Unmarshal(body, &reply); err != nil {
			return nil, fmt.Errorf("%s: the response is not JSON; it may be from a proxy", response.Status)
		}
		switch {
		case response.StatusCode == http.StatusOK:
			return &reply, nil
		case (response.StatusCode == 429 || response.StatusCode == 503) && attempt < attempts:
			seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
			time.Sleep(time.Duration(max(seconds, 1)) * time.Second)
		default:
			return nil, fmt.Errorf("%s: %s (request %s)", reply.Code, reply.Detail, reply.RequestID)
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
