package grasp

import (
	"net/url"
	"strings"
)

// HasCredentials reports whether a URL holds a user name or a password. graspd uses no such URL of an announcement, as everybody can read it. A
// user name alone counts in URLs for HTTP only: ssh needs one.
func HasCredentials(raw string) bool {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.User == nil {
		return false
	}
	_, password := u.User.Password()
	return password || strings.EqualFold(u.Scheme, "http") || strings.EqualFold(u.Scheme, "https")
}
