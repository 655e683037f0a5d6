package main

import (
	"bytes"
	"encoding/json"
)

// looksLike says what a file seems to be whose first line is no event, and what to do about it: "; …", or "" where it does not know.
func looksLike(line []byte) string {
	for _, f := range []struct{ magic, what string }{
		{"\x1f\x8b", "it is compressed with gzip: zcat FILE | graspd import … -"},
		{"\x28\xb5\x2f\xfd", "it is compressed with zstd: zstdcat FILE | graspd import … -"},
		{"\xfd7zXZ", "it is compressed with xz: xzcat FILE | graspd import … -"},
		{"BZh", "it is compressed with bzip2: bzcat FILE | graspd import … -"},
		{"PK\x03\x04", "it is a ZIP archive"},
		{"SQLite format 3", "it is a SQLite database: let the relay that wrote it export its events"},
	} {
		if bytes.HasPrefix(line, []byte(f.magic)) {
			return "; " + f.what
		}
	}
	switch {
	case len(line) == 0:
		return ""
	case line[0] == '[':
		return "; it begins like a JSON array, but has no events"
	case line[0] == '{' && !json.Valid(line):
		return "; its JSON objects stand on several lines: jq -c . FILE | graspd import … -"
	case line[0] == '{':
		return "; its lines are JSON objects, but no Nostr events"
	case line[0] == '<':
		return "; it looks like a web page"
	}
	return ""
}
