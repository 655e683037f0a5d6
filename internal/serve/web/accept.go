package web

import (
	"net/http"
	"strconv"
	"strings"
)

// Accepts returns how much a client wants a media type (text/html), 0 to 1, by its Accept headers (RFC 9110, section 12.5.1): the range that
// names the type most exactly counts. With exact a range names the type itself, and no wildcard covers it. A client without such a header
// wants everything.
func Accepts(h http.Header, mediaType string) (quality float64, exact bool) {
	kind, _, _ := strings.Cut(mediaType, "/")
	rank, quality, found := wanted(h.Values("Accept"), []string{"*/*", kind + "/*", mediaType})
	return quality, found && rank == 2
}

// takesGzip reports whether the Accept-Encoding headers allow gzip (section 12.5.3). Without such a header nothing is compressed.
func takesGzip(h http.Header) bool {
	values := h.Values("Accept-Encoding")
	_, quality, found := wanted(values, []string{"*", "x-gzip", "gzip"})
	return found && quality > 0 && len(values) > 0
}

// wanted returns the quality of the last of some names that the elements of a header have, and its place among the names; of elements with the
// same name the one with the highest quality. Where there are elements, but none with such a name, the quality is 0; without elements it is 1.
func wanted(lines []string, names []string) (rank int, quality float64, found bool) {
	rank, quality = -1, 1
	for _, line := range lines {
		for rest := line; rest != ""; {
			var element string
			element, rest = cutUnquoted(rest, ',')
			name, params := cutUnquoted(element, ';')
			q, ok := qualityOf(params)
			if name = strings.TrimSpace(name); name == "" || !ok {
				continue
			}
			if !found {
				found, quality = true, 0
			}
			for i, n := range names {
				if strings.EqualFold(n, name) && (i > rank || i == rank && q > quality) {
					rank, quality = i, q
				}
			}
		}
	}
	return rank, quality, found
}

// qualityOf returns the quality that parameters say, 1 where they say none; false for one that is no number of 0 to 1.
func qualityOf(params string) (float64, bool) {
	for params != "" {
		var one string
		one, params = cutUnquoted(params, ';')
		name, value, _ := strings.Cut(one, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return q, err == nil && q >= 0 && q <= 1
		}
	}
	return 1, true
}

// cutUnquoted cuts a text at the first sep that stands in no quoted string.
func cutUnquoted(s string, sep byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '\\' && quoted:
			i++
		case s[i] == sep && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}
