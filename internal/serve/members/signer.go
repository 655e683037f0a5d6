package members

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Signer finds out which member has signed a request.
type Signer struct {
	*Circle
	Service grasp.Service
	Now     func() time.Time
}

// Signer returns the member who has signed a request over HTTP; false where none has. It looks up members last, so that the time it takes
// does not tell who is one.
func (s Signer) Signer(r *http.Request) (nostr.PubKey, bool) {
	root := RootOf(s.Service, r.URL)
	e, err := nip98.CheckStanding(r.Header.Get("Authorization"), func(u string) bool { return s.Service.Names(u, root) && strings.HasPrefix(strings.ToLower(u), "http") }, s.Now())
	if err != nil || !s.Has(e.PubKey) {
		return nostr.PubKey{}, false
	}
	return e.PubKey, true
}

// RootOf returns the path that the signature of a request must name: the path of the repository for everything at and below that path, and
// elsewhere the path of the service. It is not escaped and has no slash at its end.
func RootOf(s grasp.Service, u *url.URL) string {
	below, ok := strings.CutPrefix(u.EscapedPath(), s.Base())
	if !ok {
		return s.Root()
	}
	from := s.Base()
	if rest, ok := strings.CutPrefix(below, grasp.ContributedPath+"/"); ok {
		from, below = from+grasp.ContributedPath, "/"+rest
	}
	parts := strings.SplitN(below, "/", 4)
	if len(parts) < 3 || parts[0] != "" || !strings.HasSuffix(parts[2], ".git") {
		return s.Root()
	}
	root, err := url.PathUnescape(from + "/" + parts[1] + "/" + parts[2])
	if err != nil {
		return s.Root()
	}
	return root
}
