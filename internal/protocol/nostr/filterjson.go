package nostr

import (
	"encoding/hex"
	"strconv"
)

// AppendJSON appends to dst the filter as a JSON object, without the absent keys.
func (f Filter) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	start := len(dst)
	key := func(name string) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, name...)
		dst = append(dst, '"', ':')
	}
	if f.IDs != nil {
		key("ids")
		dst = appendList(dst, f.IDs, appendHex32)
	}
	if f.Authors != nil {
		key("authors")
		dst = appendList(dst, f.Authors, appendHex32)
	}
	if f.Kinds != nil {
		key("kinds")
		dst = appendList(dst, f.Kinds, appendKind)
	}
	for _, t := range f.Tags {
		key("#" + string(rune(t.Name)))
		dst = appendList(dst, t.Values, appendText)
	}
	if f.Since != nil {
		key("since")
		dst = strconv.AppendInt(dst, *f.Since, 10)
	}
	if f.Until != nil {
		key("until")
		dst = strconv.AppendInt(dst, *f.Until, 10)
	}
	if f.Limit != nil {
		key("limit")
		dst = strconv.AppendInt(dst, int64(*f.Limit), 10)
	}
	if f.Search != "" {
		key("search")
		dst = appendText(dst, f.Search)
	}
	return append(dst, '}')
}

func appendList[T any](dst []byte, list []T, one func([]byte, T) []byte) []byte {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, v)
	}
	return append(dst, ']')
}

func appendKind(dst []byte, k Kind) []byte { return strconv.AppendUint(dst, uint64(k), 10) }

func appendHex32[T ~[32]byte](dst []byte, v T) []byte {
	b := [32]byte(v)
	return appendHex(dst, b[:])
}

// appendHex appends b in lower-case hex, in quotes.
func appendHex(dst, b []byte) []byte {
	dst = append(dst, '"')
	dst = hex.AppendEncode(dst, b)
	return append(dst, '"')
}
