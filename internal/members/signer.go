package members

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nip98"
	"github.com/graspd/graspd/internal/nostr"
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
	e, err := nip98.CheckStanding(r.Header.Get("Authorization"), func(u string) bool { return leadsTo(s.Service, u, root) }, s.Now())
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
		return s.Base()
	}
	from := s.Base()
	if rest, ok := strings.CutPrefix(below, grasp.ContributedPath+"/"); ok {
		from, below = from+grasp.ContributedPath, "/"+rest
	}
	parts := strings.SplitN(below, "/", 4)
	if len(parts) < 3 || parts[0] != "" || !strings.HasSuffix(parts[2], ".git") {
		return s.Base()
	}
	root, err := url.PathUnescape(from + "/" + parts[1] + "/" + parts[2])
	if err != nil {
		return s.Base()
	}
	return root
}

// leadsTo reports whether a URL names that path of the service, and nothing more. Either scheme will do, as a proxy may have taken the
// encryption off.
func leadsTo(s grasp.Service, raw, path string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.TrimSuffix(u.Path, "/") != path {
		return false
	}
	scheme, ok := map[string]string{"https": "wss", "http": "ws"}[u.Scheme]
	return ok && s.Is(grasp.RelayURL(scheme+"://"+u.Host+s.Base()))
}
