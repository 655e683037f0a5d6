package nostr

import (
	"encoding/hex"
	"slices"
	"strconv"
)

// AppendEventMsg appends ["EVENT", event].
func AppendEventMsg(dst []byte, e *Event) []byte {
	return append(e.AppendJSON(append(dst, `["EVENT",`...)), ']')
}

// AppendAuth appends ["AUTH", event] (NIP-42).
func AppendAuth(dst []byte, e *Event) []byte {
	return append(e.AppendJSON(append(dst, `["AUTH",`...)), ']')
}

// AppendReq appends ["REQ", sub, filter...].
func AppendReq(dst []byte, sub string, filters ...Filter) []byte {
	return appendFilters(appendVerb(slices.Grow(dst, room(filters...)), "REQ", sub), filters)
}

// room is how many bytes a message with these filters takes: mostly somewhat more than it will, so that its memory does not grow as it is written.
func room(filters ...Filter) int {
	n := 128
	for _, f := range filters {
		n += 128 + 67*(len(f.IDs)+len(f.Authors)) + 6*len(f.Kinds)
		for _, t := range f.Tags {
			for _, v := range t.Values {
				n += len(v) + len(`"",`)
			}
		}
	}
	return n
}

// AppendClose appends ["CLOSE", sub].
func AppendClose(dst []byte, sub string) []byte {
	return append(appendVerb(dst, "CLOSE", sub), ']')
}

// AppendNegOpen appends ["NEG-OPEN", sub, filter, msg] with msg in hex (NIP-77).
func AppendNegOpen(dst []byte, sub string, f Filter, msg []byte) []byte {
	dst = append(appendVerb(slices.Grow(dst, room(f)+2*len(msg)), "NEG-OPEN", sub), ',')
	dst = append(f.AppendJSON(dst), ',')
	return append(appendHex(dst, msg), ']')
}

// AppendNegMsg appends ["NEG-MSG", sub, msg] with msg in hex (NIP-77). Client and relay both send it.
func AppendNegMsg(dst []byte, sub string, msg []byte) []byte {
	dst = append(appendVerb(dst, "NEG-MSG", sub), ',')
	return append(appendHex(dst, msg), ']')
}

// AppendNegClose appends ["NEG-CLOSE", sub] (NIP-77).
func AppendNegClose(dst []byte, sub string) []byte {
	return append(appendVerb(dst, "NEG-CLOSE", sub), ']')
}

// AppendRelayEvent appends ["EVENT", sub, event]. json are the bytes of Event.AppendJSON.
func AppendRelayEvent(dst []byte, sub string, json []byte) []byte {
	dst = append(appendVerb(dst, "EVENT", sub), ',')
	return append(append(dst, json...), ']')
}

// AppendOK appends ["OK", id, ok, reason].
func AppendOK(dst []byte, id ID, ok bool, reason string) []byte {
	dst = append(dst, `["OK","`...)
	dst = hex.AppendEncode(dst, id[:])
	dst = append(dst, `",`...)
	dst = append(strconv.AppendBool(dst, ok), ',')
	return append(appendText(dst, reason), ']')
}

// AppendEOSE appends ["EOSE", sub].
func AppendEOSE(dst []byte, sub string) []byte {
	return append(appendVerb(dst, "EOSE", sub), ']')
}

// AppendClosed appends ["CLOSED", sub, reason].
func AppendClosed(dst []byte, sub, reason string) []byte {
	dst = append(appendVerb(dst, "CLOSED", sub), ',')
	return append(appendText(dst, reason), ']')
}

// AppendNotice appends ["NOTICE", text].
func AppendNotice(dst []byte, text string) []byte {
	return append(appendVerb(dst, "NOTICE", text), ']')
}

// AppendAuthChallenge appends ["AUTH", challenge] (NIP-42).
func AppendAuthChallenge(dst []byte, challenge string) []byte {
	return append(appendVerb(dst, "AUTH", challenge), ']')
}

// AppendCountResult appends ["COUNT", sub, {"count": n}] (NIP-45).
func AppendCountResult(dst []byte, sub string, n int64) []byte {
	dst = append(appendVerb(dst, "COUNT", sub), `,{"count":`...)
	return append(strconv.AppendInt(dst, n, 10), `}]`...)
}

// AppendNegErr appends ["NEG-ERR", sub, reason] (NIP-77), and limit as a fourth element if it is above zero: the largest number of records
// that this relay reconciles.
func AppendNegErr(dst []byte, sub, reason string, limit int64) []byte {
	dst = append(appendVerb(dst, "NEG-ERR", sub), ',')
	dst = appendText(dst, reason)
	if limit > 0 {
		dst = strconv.AppendInt(append(dst, ','), limit, 10)
	}
	return append(dst, ']')
}

// appendVerb appends the start of a frame: the verb and the text that follows it.
func appendVerb(dst []byte, verb, text string) []byte {
	dst = append(dst, '[', '"')
	dst = append(dst, verb...)
	dst = append(dst, '"', ',')
	return appendText(dst, text)
}

func appendFilters(dst []byte, filters []Filter) []byte {
	for _, f := range filters {
		dst = f.AppendJSON(append(dst, ','))
	}
	return append(dst, ']')
}
