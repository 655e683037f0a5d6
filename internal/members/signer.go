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

// Signer knows by whom a request is signed.
type Signer struct {
	*Circle
	Service grasp.Service
	Now     func() time.Time
}

// Signer is the member who has signed a request over HTTP; false where none has. Whether somebody is a member is looked at last, so that
// the time it takes tells nobody.
func (s Signer) Signer(r *http.Request) (nostr.PubKey, bool) {
	root := RootOf(s.Service, r.URL)
	e, err := nip98.CheckStanding(r.Header.Get("Authorization"), func(u string) bool { return leadsTo(s.Service, u, root) }, s.Now())
	if err != nil || !s.Has(e.PubKey) {
		return nostr.PubKey{}, false
	}
	return e.PubKey, true
}

// RootOf is the path that the signature of a request names: that of the repository for everything at it and below it, and elsewhere
// that of the service. It is not escaped and has no slash at its end.
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

// leadsTo reports whether a URL names that path of the service, and nothing more. A proxy may have taken encryption off, so either scheme
// will do.
func leadsTo(s grasp.Service, raw, path string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.TrimSuffix(u.Path, "/") != path {
		return false
	}
	scheme, ok := map[string]string{"https": "wss", "http": "ws"}[u.Scheme]
	return ok && s.Is(grasp.RelayURL(scheme+"://"+u.Host+s.Base()))
}
