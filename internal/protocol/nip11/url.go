package nip11

import (
	"fmt"
	"net/url"
)

// MaxURL is the longest URL in bytes that our document may have: others read no longer URLs.
const MaxURL = 1000

// CheckURL says what is wrong with the URL of a page or picture; nil where nothing is. An empty URL is right.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	if s != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || len(s) > MaxURL) {
		return fmt.Errorf("want a URL such as https://example.org/page, of %d bytes at most", MaxURL)
	}
	return nil
}
