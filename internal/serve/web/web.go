// Package web has what the public pages share: their style, what a browser may load for them, and how to send them. It compresses them for
// a client that asks for that, and sends no body where nothing has changed. Read Look.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

//go:embed style.css
var style string

// icon is the icon of the service, in graspd's own colours.
const icon = template.URL("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%236b3fa0'/%3E%3Cpath d='M5 4v8M5 8h3a3 3 0 0 0 3-3' stroke='white' stroke-width='1.6' fill='none'/%3E%3Ccircle cx='5' cy='12' r='1.5' fill='white'/%3E%3Ccircle cx='5' cy='4' r='1.5' fill='white'/%3E%3Ccircle cx='11' cy='4.6' r='1.5' fill='white'/%3E%3C/svg%3E")

// HTML is the type of pages, and Atom that of feeds.
const (
	HTML = "text/html; charset=utf-8"
	Atom = "application/atom+xml; charset=utf-8"
)

// Forever is the Cache-Control of a document that never changes. Only the client keeps it, as it may be taken down here.
const Forever = "private, max-age=31536000, immutable"

// Self stands for this service among the servers whose images a page may load.
const Self = "'self'"

// Raw sends a file that a stranger wrote as it is. No browser runs anything of it.
func Raw(w http.ResponseWriter, req *http.Request, contentType string, body []byte) {
	send(w, req, http.StatusOK, contentType, body, "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'")
}

// leastPacked is the size in bytes from which on it is worth to compress a document.
const leastPacked = 1000

// send sends a document, with a policy of what it may load. It does not send the body again to a client that has it already (If-None-Match).
func send(w http.ResponseWriter, req *http.Request, status int, contentType string, body []byte, policy string) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache")
	}
	h.Set("Vary", "Accept, Accept-Encoding")
	packed := len(body) >= leastPacked && takesGzip(req.Header) && (!strings.HasPrefix(contentType, "image/") || strings.HasPrefix(contentType, "image/svg"))
	if status == http.StatusOK {
		sum := sha256.Sum256(body)
		tag := base64.RawURLEncoding.EncodeToString(sum[:18])
		if packed {
			tag += "-gzip"
		}
		tag = `"` + tag + `"`
		h.Set("ETag", tag)
		if has(req.Header, tag) {
			h.Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if packed {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		_, _ = z.Write(body) // a buffer does not fail
		_ = z.Close()
		body = b.Bytes()
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone; for HEAD the server leaves the body out
}

// origins returns the origins of images, as a policy names them.
func origins(images []string) (out string) {
	for _, raw := range images {
		if raw == Self {
			out += " " + Self
		}
		if u, err := url.Parse(raw); err == nil && (u.Scheme == "https" || u.Scheme == "http") && !strings.ContainsAny(u.Host, ";, '*") && u.Host != "" {
			out += " " + u.Scheme + "://" + u.Host
		}
	}
	return out
}

// has reports whether the client has the document with that tag.
func has(h http.Header, tag string) bool {
	for _, line := range h.Values("If-None-Match") {
		for one := range strings.SplitSeq(line, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// Tidy returns a path without slashes beside each other and at its end, as people type them.
func Tidy(path string) string {
	if !strings.Contains(path, "//") && !strings.HasSuffix(path, "/") {
		return path
	}
	return "/" + strings.Join(strings.FieldsFunc(path, func(r rune) bool { return r == '/' }), "/")
}
