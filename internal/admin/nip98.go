package admin

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/nostr"
)

// kindHTTPAuth is that of an authorised HTTP request (NIP-98), and httpAuthAge how far its clock may be off.
const (
	kindHTTPAuth = nostr.Kind(27235)
	httpAuthAge  = time.Minute
)

// Authorize signs a request (NIP-98) with the relay's own key: whoever can read that can read everything else here.
func Authorize(r *http.Request, body []byte, now time.Time, sign func(*nostr.Event) error) error {
	sum := sha256.Sum256(body)
	e := &nostr.Event{Kind: kindHTTPAuth, CreatedAt: now.Unix(), Tags: nostr.Tags{
		{"u", r.URL.String()}, {"method", r.Method}, {"payload", hex.EncodeToString(sum[:])},
	}}
	if err := sign(e); err != nil {
		return err
	}
	r.Header.Set("Authorization", "Nostr "+base64.StdEncoding.EncodeToString(e.AppendJSON(nil)))
	return nil
}

// authorized checks that a request was signed with that key, for this host and path, this body and about now.
func authorized(r *http.Request, body []byte, self nostr.PubKey, now time.Time) error {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Nostr ")
	if !ok {
		return errors.New("the request must be signed with the relay's own key (NIP-98)")
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return errors.New("the authorization is not base64")
	}
	e, err := nostr.ParseEvent(b)
	if err != nil {
		return errors.New("the authorization is no event")
	}
	u, err := url.Parse(tagOf(e, "u"))
	sum := sha256.Sum256(body)
	switch {
	case e.Kind != kindHTTPAuth:
		return errors.New("the authorization is of another kind")
	case e.PubKey != self:
		return errors.New("the authorization is not by the relay's own key: is this the relay of that data directory?")
	case nostr.Check(e, nostr.Schnorr{}) != nil:
		return errors.New("the signature of the authorization is wrong")
	case now.Sub(time.Unix(e.CreatedAt, 0)).Abs() > httpAuthAge:
		return errors.New("the authorization is too old, or of the future")
	case err != nil, u.Host != r.Host, u.Path != r.URL.Path, tagOf(e, "method") != r.Method, tagOf(e, "payload") != hex.EncodeToString(sum[:]):
		return errors.New("the authorization is for another request")
	}
	return nil
}

func tagOf(e *nostr.Event, name string) string {
	v, _ := e.Tags.First(name)
	return v
}
