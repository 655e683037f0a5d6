package pktline

import (
	"fmt"

	"github.com/graspd/graspd/internal/base/safetext"
)

// AppendFlush appends 0000.
func AppendFlush(dst []byte) []byte { return append(dst, "0000"...) }

// AppendDelim appends 0001.
func AppendDelim(dst []byte) []byte { return append(dst, "0001"...) }

// AppendResponseEnd appends 0002.
func AppendResponseEnd(dst []byte) []byte { return append(dst, "0002"...) }

// Append appends a frame with the payload. It panics at a payload of more than MaxPayload bytes, which is a fault of the caller.
func Append[T string | []byte](dst []byte, payload T) []byte {
	start := len(dst)
	return End(append(Begin(dst), payload...), start)
}

// Begin appends the room for the length of a frame. The caller then appends the payload and ends the frame with [End], to which it gives
// the length that dst had before Begin.
func Begin(dst []byte) []byte { return append(dst, "0000"...) }

// End writes the length of the frame that begins at start and ends where dst ends. It panics at a payload of more than MaxPayload bytes,
// as Append does.
func End(dst []byte, start int) []byte {
	length := len(dst) - start
	if length > MaxFrame {
		panic(fmt.Sprintf("pktline: frame of %d bytes", length))
	}
	putLength(dst[start:start+header], length)
	return dst
}

func putLength(dst []byte, length int) {
	const digits = "0123456789abcdef"
	dst[0] = digits[length>>12&15]
	dst[1] = digits[length>>8&15]
	dst[2] = digits[length>>4&15]
	dst[3] = digits[length&15]
}

// AppendError appends the frame that ends a conversation with a reason, which git shows: "ERR " and the text. It cuts a text that is too
// long for a frame between two characters.
func AppendError(dst []byte, text string) []byte {
	start := len(dst)
	text, _ = safetext.Cut(text, MaxPayload-len("ERR "))
	return End(append(append(Begin(dst), "ERR "...), text...), start)
}
