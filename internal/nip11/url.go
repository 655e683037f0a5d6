package nip11

import (
	"fmt"
	"net/url"
)

// MaxURL bounds a URL that a relay says of itself, in bytes, as others read no more of it.
const MaxURL = 1000

// CheckURL says what is wrong with the URL of a page or picture; nil where nothing is. There may be none.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	if s != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || len(s) > MaxURL) {
		return fmt.Errorf("want a URL such as https://example.org/page, of %d bytes at most", MaxURL)
	}
	return nil
}
