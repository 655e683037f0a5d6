package gitfetch

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// open asks for the refs, and follows redirects of that request: repositories move. Later requests go to where the last redirect led.
func (s *exchange) open(ctx context.Context) (*http.Response, error) {
	if u, err := url.Parse(s.base); err != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(s.base, "#") {
		return nil, protocol("not the URL of a repository")
	}
	for range maxRedirects + 1 {
		resp, err := s.do(ctx, ask{path: advertPath, version: gitwire.Version(2), answer: advertType})
		if err != nil {
			return nil, err
		}
		to := resp.Header.Get("Location")
		if !redirects(resp.StatusCode) || to == "" {
			return resp, s.check(resp, advertType)
		}
		s.close()
		if err := s.follow(to); err != nil {
			return nil, err
		}
	}
	return nil, protocol("more than %d redirects", maxRedirects)
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follow changes the repository's URL to where a redirect leads. As with git, the redirect has to lead to the same path below the new
// URL. A scheme may become a safer one. No stranger's URL leads to one that the operator implies, as that may be in the operator's own network.
func (s *exchange) follow(to string) error {
	from, err := url.Parse(s.base + advertPath)
	if err != nil {
		return protocol("not a URL")
	}
	u, err := from.Parse(to)
	if err != nil {
		return protocol("redirected to %s, which is no URL", quote(to))
	}
	if u.Scheme != from.Scheme && (from.Scheme != "http" || u.Scheme != "https") {
		return protocol("redirected to %s, which is another scheme", quote(to))
	}
	u.Fragment, u.RawFragment = "", ""
	base, is := strings.CutSuffix(u.String(), advertPath)
	if !is || strings.Contains(base, "?") {
		return protocol("redirected to %s, which is not info/refs of a repository", quote(to))
	}
	s.base, s.typed = base, s.typed && s.implied(base)
	return nil
}
