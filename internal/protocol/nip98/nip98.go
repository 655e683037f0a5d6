// Package nip98 authorizes HTTP requests by signed events (NIP-98): it makes an authorization, and checks whether one is good for a
// request. The package reads no clock, and remembers nothing but in a Seen that the caller keeps.
package nip98

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Kind is the kind of an authorization, and Age how far its time may be from now, in either direction.
const (
	Kind = nostr.Kind(27235)
	Age  = time.Minute
)

// Errors of Check, in the order in which it checks, but for ErrKey, which is the last.
var (
	ErrNone      = errors.New("the request must be signed (NIP-98)")
	ErrBase64    = errors.New("the authorization is not base64")
	ErrEvent     = errors.New("the authorization is no event")
	ErrKind      = errors.New("the authorization is of another kind")
	ErrKey       = errors.New("the authorization is by a key that may not do this")
	ErrTime      = errors.New("the authorization is too old, or of the future")
	ErrEarly     = errors.New("another node may have taken the authorization before this one began to: sign the request again in a minute")
	ErrOther     = errors.New("the authorization is for another request")
	ErrSignature = errors.New("the signature of the authorization is wrong")
)

// Request describes the HTTP request that an authorization has to name.
type Request struct {
	Names  func(url string) bool // reports whether a URL is that of the request, as grasp.Service.Names does
	Method string
	Body   []byte
	From   time.Time               // no authorization is good of this time or before, as somebody else may have taken it; zero is any
	May    func(nostr.PubKey) bool // reports whether a key may make the request
}

// Sign makes the value of the Authorization header of a request.
func Sign(method, url string, body []byte, now time.Time, sign func(*nostr.Event) error) (string, error) {
	sum := sha256.Sum256(body)
	return header(&nostr.Event{Kind: Kind, CreatedAt: now.Unix(), Tags: nostr.Tags{
		{"u", url}, {"method", method}, {"payload", hex.EncodeToString(sum[:])},
	}}, sign)
}

// Check reads the value of an Authorization header. It returns the event if the event is good for the request q at the time now, else one
// of the errors above. Check asks May last and of good signatures alone, so that the time it takes tells nobody whose key may.
func Check(header string, q Request, now time.Time) (*nostr.Event, error) {
	e, err := read(header)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(q.Body)
	switch {
	case e.Kind != Kind:
		return nil, ErrKind
	case !timely(e, now):
		return nil, ErrTime
	case !q.From.IsZero() && e.CreatedAt <= q.From.Unix():
		return nil, ErrEarly
	case !q.Names(tagOf(e, "u")):
		return nil, ErrOther
	case tagOf(e, "method") != q.Method:
		return nil, ErrOther
	case tagOf(e, "payload") != hex.EncodeToString(sum[:]):
		return nil, ErrOther
	case nostr.Check(e, nostr.Schnorr{}) != nil:
		return nil, ErrSignature
	case !q.May(e.PubKey):
		return nil, ErrKey
	}
	return e, nil
}

// CheckStanding reads the value of an Authorization header in the form of GRASP-08: its method is GET, and it has no payload. While its
// time is right, such an authorization is good for every request at and below the URL that it names, with any method and body.
// CheckStanding returns the event, whoever has signed it, or one of the errors above. It verifies the signature last.
func CheckStanding(header string, names func(url string) bool, now time.Time) (*nostr.Event, error) {
	e, err := read(header)
	if err != nil {
		return nil, err
	}
	if e.Kind != Kind {
		return nil, ErrKind
	}
	if !timely(e, now) {
		return nil, ErrTime
	}
	if _, payload := e.Tags.First("payload"); payload || tagOf(e, "method") != standing || !names(tagOf(e, "u")) {
		return nil, ErrOther
	}
	if nostr.Check(e, nostr.Schnorr{}) != nil {
		return nil, ErrSignature
	}
	return e, nil
}

// SignStanding makes the value of the Authorization header for requests at and below a URL, in the form of GRASP-08.
func SignStanding(url string, now time.Time, sign func(*nostr.Event) error) (string, error) {
	return header(&nostr.Event{Kind: Kind, CreatedAt: now.Unix(), Tags: nostr.Tags{{"u", url}, {"method", standing}}}, sign)
}

// timely reports whether the event's time is at most Age from now.
func timely(e *nostr.Event, now time.Time) bool {
	return now.Sub(time.Unix(e.CreatedAt, 0)).Abs() <= Age
}

// standing is the method that an authorization of GRASP-08 names, whatever the method of the request.
const standing = "GET"

func header(e *nostr.Event, sign func(*nostr.Event) error) (string, error) {
	if err := sign(e); err != nil {
		return "", err
	}
	return scheme + base64.StdEncoding.EncodeToString(e.AppendJSON(nil)), nil
}

const scheme = "Nostr "

// read reads the event in the value of a header.
func read(header string) (*nostr.Event, error) {
	if len(header) < len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return nil, ErrNone
	}
	b, err := base64.StdEncoding.DecodeString(header[len(scheme):])
	if err != nil {
		return nil, ErrBase64
	}
	e, err := nostr.ParseEvent(b)
	if err != nil {
		return nil, ErrEvent
	}
	return e, nil
}

func tagOf(e *nostr.Event, name string) string {
	v, _ := e.Tags.First(name)
	return v
}
