package nostr

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// AppendCanonical appends to dst the array whose SHA-256 is the id: [0,pubkey,created_at,kind,tags,content] without whitespace (NIP-01).
func (e *Event) AppendCanonical(dst []byte) []byte {
	dst = append(dst, `[0,"`...)
	dst = hex.AppendEncode(dst, e.PubKey[:])
	dst = append(dst, `",`...)
	dst = strconv.AppendInt(dst, e.CreatedAt, 10)
	dst = append(dst, ',')
	dst = strconv.AppendUint(dst, uint64(e.Kind), 10)
	dst = append(dst, ',')
	dst = appendTags(dst, e.Tags)
	dst = append(dst, ',')
	dst = appendString(dst, e.Content)
	return append(dst, ']')
}

// ComputeID returns the id that the event's fields give.
func (e *Event) ComputeID() ID {
	return sha256.Sum256(e.AppendCanonical(make([]byte, 0, e.canonicalRoom())))
}

// canonicalRoom estimates how many bytes AppendCanonical appends.
func (e *Event) canonicalRoom() int {
	if e.raw != "" {
		return len(e.raw)
	}
	return 256 + len(e.Content)
}

// AppendJSON appends to dst the event as graspd stores and sends it. AppendJSON appends the object as it was received, if it held exactly
// the seven keys of NIP-01 without whitespace between them; otherwise an encoding of the fields.
func (e *Event) AppendJSON(dst []byte) []byte {
	if e.raw != "" {
		return append(dst, e.raw...)
	}
	dst = append(dst, `{"id":"`...)
	dst = hex.AppendEncode(dst, e.ID[:])
	dst = append(dst, `","pubkey":"`...)
	dst = hex.AppendEncode(dst, e.PubKey[:])
	dst = append(dst, `","created_at":`...)
	dst = strconv.AppendInt(dst, e.CreatedAt, 10)
	dst = append(dst, `,"kind":`...)
	dst = strconv.AppendUint(dst, uint64(e.Kind), 10)
	dst = append(dst, `,"tags":`...)
	dst = appendTags(dst, e.Tags)
	dst = append(dst, `,"content":`...)
	dst = appendString(dst, e.Content)
	dst = append(dst, `,"sig":"`...)
	dst = hex.AppendEncode(dst, e.Sig[:])
	return append(dst, `"}`...)
}

// Size returns how many bytes AppendJSON appends.
func (e *Event) Size() int {
	if e.raw != "" {
		return len(e.raw)
	}
	return len(e.AppendJSON(nil))
}

func appendTags(dst []byte, tags Tags) []byte {
	return appendList(dst, tags, func(dst []byte, t Tag) []byte { return appendList(dst, t, appendString) })
}
