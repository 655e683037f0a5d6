package grasp

import (
	"net/url"
	"strings"
)

// HasCredentials reports whether a URL holds a user name or a password. graspd uses no such URL of an event, as everybody can read it. A
// user name alone counts in URLs for HTTP only: ssh needs one. People write passwords as they are, so the text may be no URL by the rules.
func HasCredentials(raw string) bool {
	raw = strings.TrimSpace(raw)
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		scheme, rest = "", raw
	}
	if u, err := url.Parse(raw); found && err == nil && u.User == nil {
		return false
	}
	authority, _, _ := strings.Cut(rest, "/")
	user, _, ok := strings.Cut(authority, "@")
	return ok && (strings.Contains(user, ":") || strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}
