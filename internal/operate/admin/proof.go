package admin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
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

// let reports whether whoever makes a request may change what is here without a signature: they have signed in (AsOperator), or they came
// through a unix socket, whose mode says who may.
func let(ctx context.Context) bool {
	_, signedIn := ctx.Value(operatorKey{}).(string)
	at, _ := ctx.Value(http.LocalAddrContextKey).(net.Addr)
	return signedIn || at != nil && at.Network() == "unix"
}

// nobody is let do without a signature.
func nobody(context.Context) bool { return false }

// proven answers a POST only where whoever makes it has proven that they may: they are let, or the relay's own key has signed the request.
// The private listener itself keeps nobody of this machine out.
func (c Config) proven(let func(context.Context) bool, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
		if err != nil {
			answer(w, http.StatusBadRequest, "the request cannot be read")
			return
		}
		if !let(r.Context()) {
			if err := authorized(r, body, c.Self, time.Now()); err != nil {
				answer(w, http.StatusUnauthorized, err.Error())
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h(w, r)
	}
}

// mostBody bounds the body of a POST, in bytes.
const mostBody = 32 << 10

// authorized fails unless the relay's own key has signed a request (NIP-98) for this host and path, with this body, about now.
func authorized(r *http.Request, body []byte, self nostr.PubKey, now time.Time) error {
	here, err := grasp.ParseService(r.Host)
	if err != nil || r.URL.RawQuery != "" { // nobody has signed the query
		return nip98.ErrOther
	}
	_, err = nip98.Check(r.Header.Get("Authorization"), nip98.Request{
		Names: func(u string) bool { return here.Names(u, r.URL.Path) }, Method: r.Method, Body: body,
		May: func(pk nostr.PubKey) bool { return pk == self },
	}, now)
	switch {
	case errors.Is(err, nip98.ErrNone):
		return errors.New("the request must be signed with the relay's own key (NIP-98), as the commands of graspd do that can read it in --data")
	case errors.Is(err, nip98.ErrKey):
		return errors.New("the authorization is not by the relay's own key: is this the relay of that data directory?")
	}
	return err
}
