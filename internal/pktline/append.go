package pktline

import (
	"fmt"

	"github.com/graspd/graspd/internal/words"
)

// AppendFlush appends 0000.
func AppendFlush(dst []byte) []byte { return append(dst, "0000"...) }

// AppendDelim appends 0001.
func AppendDelim(dst []byte) []byte { return append(dst, "0001"...) }

// AppendResponseEnd appends 0002.
func AppendResponseEnd(dst []byte) []byte { return append(dst, "0002"...) }

// Append appends a frame with the payload, which has at most MaxPayload bytes. A longer one is a fault of the caller, and it
// panics.
func Append[T string | []byte](dst []byte, payload T) []byte {
	start := len(dst)
	return End(append(Begin(dst), payload...), start)
}

// Begin appends the room for the length of a frame. The payload is appended by the caller and the frame ended by [End], which
// wants to know the length that dst had before.
func Begin(dst []byte) []byte { return append(dst, "0000"...) }

// End writes the length of the frame that begins at start and ends where dst does. It panics at a payload above MaxPayload, as
// Append does.
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

// AppendError appends the frame that ends a conversation with a reason, which git shows: "ERR " and the text. A text that is
// too long for a frame is cut between two of its characters.
func AppendError(dst []byte, text string) []byte {
	start := len(dst)
	text, _ = words.Cut(text, MaxPayload-len("ERR "))
	return End(append(append(Begin(dst), "ERR "...), text...), start)
}
