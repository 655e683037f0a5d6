package admin

import (
	"errors"
	"net/http"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Authorize signs a request (NIP-98) with the relay's own key. Whoever can read that key can read everything else of the relay too.
func Authorize(r *http.Request, body []byte, now time.Time, sign func(*nostr.Event) error) error {
	h, err := nip98.Sign(r.Method, r.URL.String(), body, now, sign)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", h)
	return nil
}

// authorized fails unless the relay's own key has signed a request (NIP-98) for this host and path, with this body, about now.
func authorized(r *http.Request, body []byte, self nostr.PubKey, now time.Time) error {
	here, err := grasp.ParseService(r.Host)
	if err != nil {
		return nip98.ErrOther
	}
	_, err = nip98.Check(r.Header.Get("Authorization"), nip98.Request{
		Names: func(u string) bool { return here.Names(u, r.URL.Path) }, Method: r.Method, Body: body,
		May: func(pk nostr.PubKey) bool { return pk == self },
	}, now)
	switch {
	case errors.Is(err, nip98.ErrNone):
		return errors.New("the request must be signed with the relay's own key (NIP-98)")
	case errors.Is(err, nip98.ErrKey):
		return errors.New("the authorization is not by the relay's own key: is this the relay of that data directory?")
	}
	return err
}
