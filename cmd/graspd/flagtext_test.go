package main

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Defaults are written as they are read.
func TestDefaultsAreWrittenAsTheyAreRead(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 1: "1", 1 << 10: "1KiB", 1536: "1536", 1536 << 20: "1536MiB", 64 << 20: "64MiB", 1 << 30: "1GiB", 3 << 40: "3TiB", 2048 << 40: "2048TiB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0s", 5 * time.Second: "5s", 50 * time.Second: "50s", time.Minute: "1m", 10 * time.Minute: "10m", 24 * time.Hour: "24h",
		90 * time.Minute: "1h30m", time.Hour + 10*time.Second: "1h0m10s", 61 * time.Second: "1m1s", 250 * time.Millisecond: "250ms"} {
		if got := durationText(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 10_000 {
		n, d := r.Int64N(5000)<<(10*r.IntN(5)), time.Duration(r.IntN(200_000))*time.Second
		if got, err := parseSize(sizeText(n)); err != nil || got != n {
			t.Fatalf("%d is %s, which is %d: %v", n, sizeText(n), got, err)
		}
		if got, err := time.ParseDuration(durationText(d)); err != nil || got != d {
			t.Fatalf("%v is %s, which is %v: %v", d, durationText(d), got, err)
		}
	}
}

// TestTheRelaySaysMoreOfItself: an npub is told as hex, and what is no address of a page is an error.
func TestTheRelaySaysMoreOfItself(t *testing.T) {
	const npub, hex = "npub10xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqpkge6d", "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
	us := serve(t, "--data", t.TempDir(), "--sync=false", "--git=false", "--pubkey", npub, "--icon", "https://x.example/i.png", "--banner", "https://x.example/b.png",
		"--terms-of-service", "https://x.example/terms", "--posting-policy", "https://x.example/posting")
	at := "http" + strings.TrimPrefix(string(us.url), "ws")
	req, err := http.NewRequest(http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/nostr+json")
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{`"pubkey":"` + hex + `"`, `"icon":"https://x.example/i.png"`, `"banner":"https://x.example/b.png"`, `"terms_of_service":"https://x.example/terms"`,
		`"posting_policy":"https://x.example/posting"`, `,34,`, `"software":"https://`} {
		if !strings.Contains(string(b), s) {
			t.Errorf("no %s in %s", s, b)
		}
	}
	if got, want := read(t, strings.TrimSuffix(at, "/")+"/.well-known/nostr.json?name=_"), `{"names":{"_":"`+hex+`"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, args := range [][]string{{"--pubkey", npub[:60]}, {"--pubkey", "nsec1xyz"}, {"--icon", "javascript:alert(1)"}, {"--banner", "picture.png"}, {"--terms-of-service", "mailto:x@example.org"},
		{"--posting-policy", "https://x.example/" + strings.Repeat("a", 1000)}} {
		code, _, errs := call(t, "", nil, append([]string{"serve"}, args...)...)
		if code != exitUsage || !strings.Contains(errs, args[0]) {
			t.Errorf("%.80v: %d %s", args, code, errs)
		}
	}
}
