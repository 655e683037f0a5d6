package frames_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graspd/graspd/internal/base/frames"
)

// frame returns a frame with a header of that size (0, 2 or 8 bytes of length).
func frame(first byte, masked bool, lengthBytes, payload int) []byte {
	var mask byte
	if masked {
		mask = 0x80
	}
	b := []byte{first}
	switch lengthBytes {
	case 0:
		b = append(b, mask|byte(payload))
	case 2:
		b = binary.BigEndian.AppendUint16(append(b, mask|126), uint16(payload))
	case 8:
		b = binary.BigEndian.AppendUint64(append(b, mask|127), uint64(payload))
	}
	if masked {
		b = append(b, 0xff, 0x81, 0x89, 0xff)
	}
	for range payload {
		b = append(b, 0x81) // like the beginning of a message
	}
	return b
}

// However the bytes are cut, the same frames are in them.
func TestSee(t *testing.T) {
	for _, masked := range []bool{false, true} {
		var all []byte
		var want frames.Seen
		mask := 0
		if masked {
			mask = 4
		}
		for _, f := range []struct {
			first           byte
			length, payload int
			begins          bool
		}{
			{0x81, 0, 0, true}, {0x81, 0, 125, true}, {0x01, 2, 126, true}, {0x00, 2, 3, false}, {0x80, 8, 70_000, false}, {0x89, 0, 0, false},
			{0x8a, 0, 4, false}, {0x82, 8, 0, true}, {0x02, 2, 0, true}, {0x00, 0, 0, false}, {0x00, 0, 1, false}, {0xc1, 2, 500, true},
			{0x8f, 0, 1, false}, {0x83, 0, 1, false}, {0x88, 0, 2, false},
		} {
			all = append(all, frame(f.first, masked, f.length, f.payload)...)
			if f.first&0xf <= 2 {
				want.Payload += f.payload + mask
			}
			if f.begins {
				want.Messages++
			} else {
				want.Others++
			}
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		for most := range 300 {
			var c frames.Counter
			var got frames.Seen
			for rest := all; len(rest) > 0; {
				n := min(len(rest), 1+rnd.IntN(most*most+1))
				s := c.See(rest[:n])
				got = frames.Seen{Messages: got.Messages + s.Messages, Others: got.Others + s.Others, Payload: got.Payload + s.Payload}
				rest = rest[n:]
			}
			if got != want {
				t.Fatalf("masked %v, pieces up to %d: %+v, want %+v", masked, most*most+1, got, want)
			}
		}
	}
}

// A frame that claims any size is one frame for as long as bytes of it come.
func TestAFrameOfAnySize(t *testing.T) {
	for _, size := range []uint64{1 << 40, 1 << 63, math.MaxUint64 - 3, math.MaxUint64} {
		for _, second := range []byte{127, 255} {
			var c frames.Counter
			got := c.See(append(binary.BigEndian.AppendUint64([]byte{0x81, second}, size), make([]byte, 1000)...))
			if got != (frames.Seen{Messages: 1, Payload: 1000}) {
				t.Errorf("%d: %+v", size, got)
			}
			if got := c.See(make([]byte, 5000)); got != (frames.Seen{Payload: 5000}) {
				t.Errorf("%d, then: %+v", size, got)
			}
		}
	}
}
