// Package nip86 lets those whom the operator names manage the relay over its public address (NIP-86). Each request is signed (NIP-98). The
// relay carries out and notes what a request asks for as it does with the operator's own decisions. Read Route.
package nip86

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
)

// ContentType is the media type of requests and answers.
const ContentType = "application/nostr+json+rpc"

// Bounds of a request.
const (
	MaxBody  = 64 << 10         // bytes of its body
	patience = 10 * time.Second // for which the answer waits until what somebody banned is away
)

// Moderation carries decisions out. Its methods are those of moderator.Moderator.
type Moderation interface {
	Bar(ctx context.Context, o moderation.Order) (moderation.Case, error)
	LiftSubject(ctx context.Context, s moderation.Subject, by, why string) (bool, error)
	Allow(ctx context.Context, pk nostr.PubKey, by, why string) error
	Disallow(ctx context.Context, pk nostr.PubKey, by, why string) (bool, error)
	Allowed() []moderation.Allowed
	Await(ctx context.Context, n uint64) moderation.Case
	Cases() []moderation.Case
}

// Settings are what the relay says of itself.
type Settings interface {
	// Change changes SettingName, SettingDescription or SettingIcon, and returns when that is in force.
	Change(ctx context.Context, setting, value, by string) error
}

// Config says who may manage what. Every field is needed but From and Private.
type Config struct {
	Service    grasp.Service
	Keys       []nostr.PubKey // who may
	Moderation Moderation
	Settings   Settings
	Now        func() time.Time
	From       time.Time // requests must be signed later; zero is any time
	Private    bool      // strangers hear what a private service says to all of them; else they hear what is wrong with their request
}

// manager answers requests, and remembers which authorizations were used.
type manager struct {
	Config

	mu   sync.Mutex // guards the fields below
	seen nip98.Seen
}

// Route returns the route that answers requests to manage a relay.
func Route(c Config) front.Route {
	m := &manager{Config: c}
	return front.Route{Name: "management", Door: front.Own, Takes: m.takes, Serve: m.serve}
}

// takes reports whether a request is one of management. A proxy may or may not take the service's path off.
func (m *manager) takes(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	base := m.Service.Root()
	return err == nil && kind == ContentType && r.Method == http.MethodPost && slices.Contains([]string{"/", base, base + "/"}, r.URL.Path)
}

func (m *manager) serve(w http.ResponseWriter, r *http.Request, from front.Client) {
	if wait := max(from.Visitor.MayReceive(), from.Visitor.Admit()); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(1+int(wait/time.Second)))
		answer(w, http.StatusTooManyRequests, nil, errors.New("too many requests from your address"))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	from.Visitor.Received(len(body))
	if err != nil && m.Private {
		front.Unauthorized(w)
		return
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		answer(w, http.StatusRequestEntityTooLarge, nil, errors.New("a request has at most 64 KiB"))
		return
	}
	if err != nil {
		answer(w, http.StatusBadRequest, nil, errors.New("the request cannot be read"))
		return
	}
	by, err := m.authorized(r.Header.Get("Authorization"), body)
	if err != nil {
		if m.Private {
			front.Unauthorized(w)
			return
		}
		answer(w, http.StatusUnauthorized, nil, err)
		return
	}
	result, err := m.do(r.Context(), body, by)
	answer(w, http.StatusOK, result, err)
}

// authorized returns the key that has signed a request. It remembers only authorizations of keys that may, so that strangers take no room.
func (m *manager) authorized(header string, body []byte) (nostr.PubKey, error) {
	now := m.Now()
	e, err := nip98.Check(header, nip98.Request{
		Names: func(u string) bool { return m.Service.Names(u, m.Service.Root()) }, Method: http.MethodPost, Body: body, From: m.From, May: func(pk nostr.PubKey) bool { return slices.Contains(m.Keys, pk) },
	}, now)
	if err != nil {
		return nostr.PubKey{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return e.PubKey, m.seen.Use(e.ID, now)
}

// reply is the body of an answer.
type reply struct {
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// answer sends a result or an error. It ignores a client that has gone.
func answer(w http.ResponseWriter, code int, result any, err error) {
	p := reply{Result: result}
	if err != nil {
		p = reply{Error: err.Error()}
	}
	w.Header().Set("Content-Type", ContentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(p)
}
