package web

import (
	"bytes"
	"encoding/xml"
	"time"
)

// Feed is an Atom feed (RFC 4287).
type Feed struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	Title   string   `xml:"title"`
	ID      string   `xml:"id"`
	Updated string   `xml:"updated"`
	Links   []Link   `xml:"link"`
	Entries []Entry  `xml:"entry"`
}

// Link leads somewhere from a feed or an entry.
type Link struct {
	Rel  string `xml:"rel,attr,omitempty"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

// Entry is one entry of a feed. Its ID never changes.
type Entry struct {
	Title    string     `xml:"title"`
	ID       string     `xml:"id"`
	Updated  string     `xml:"updated"`
	Author   string     `xml:"author>name"`
	Links    []Link     `xml:"link"`
	Category []Category `xml:"category"`
	Summary  string     `xml:"summary"`
}

// Category tells the sort of an entry.
type Category struct {
	Term string `xml:"term,attr"`
}

// Bytes writes the feed as XML.
func (f Feed) Bytes() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	err := xml.NewEncoder(&b).Encode(f)
	return b.Bytes(), err
}

// Stamp writes a unix time as feeds have it (RFC 3339, UTC).
func Stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }
