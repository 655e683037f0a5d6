package pktline_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

// bands takes a side-band stream apart: the streams by band, each frame's length, and whether a flush ended it.
func bands(t *testing.T, stream []byte) (streams map[byte]string, lengths []int, flushed bool) {
	t.Helper()
	streams = map[byte]string{}
	parts := map[byte][]byte{}
	r := pktline.NewReader(bytes.NewReader(stream), int64(len(stream))+4)
	for {
		kind, payload, err := r.Next()
		switch {
		case err == io.EOF:
			for band, part := range parts {
				streams[band] = string(part)
			}
			return streams, lengths, flushed
		case err != nil || flushed:
			t.Fatalf("%v, flushed %v", err, flushed)
		case kind == pktline.Flush:
			flushed = true
		case kind != pktline.Data || len(payload) == 0:
			t.Fatalf("%v with %q", kind, payload)
		default:
			parts[payload[0]] = append(parts[payload[0]], payload[1:]...)
			lengths = append(lengths, 4+len(payload))
		}
	}
}

func TestSideband(t *testing.T) {
	var out bytes.Buffer
	s := pktline.NewSideband(&out, pktline.Sideband64kFrame)
	if n, err := s.Write([]byte("PACK")); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	for _, err := range []error{s.Progress([]byte("half\r")), s.Progress(nil), s.KeepAlive(), s.Fail("no"), s.Flush()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Write(nil); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if want := "0009\x01PACK000a\x02half\r0005\x010007\x03no0000"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}

func TestSidebandCutsIntoFrames(t *testing.T) {
	for _, frame := range []int{pktline.SidebandFrame, pktline.Sideband64kFrame} {
		room := frame - 5
		for _, size := range []int{1, room - 1, room, room + 1, 2 * room, 3*room + 7} {
			var out bytes.Buffer
			s := pktline.NewSideband(&out, frame)
			p := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
			if n, err := s.Write(p); n != size || err != nil {
				t.Fatal(n, err)
			}
			streams, lengths, _ := bands(t, out.Bytes())
			if streams[1] != string(p) || len(streams) != 1 || len(lengths) != (size+room-1)/room || lengths[0] != min(size, room)+5 {
				t.Errorf("%d bytes in frames of %d: %v", size, frame, lengths)
			}
			if got := pktline.AppendBand([]byte("before"), frame, pktline.BandData, p); string(got) != "before"+out.String() {
				t.Errorf("%d bytes in frames of %d: AppendBand writes others", size, frame)
			}
		}
	}
	if got := pktline.AppendBand(nil, pktline.SidebandFrame, pktline.BandProgress, nil); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestSidebandFailFitsOneFrame(t *testing.T) {
	for _, frame := range []int{pktline.SidebandFrame, pktline.Sideband64kFrame} {
		var out bytes.Buffer
		if err := pktline.NewSideband(&out, frame).Fail(strings.Repeat("\u20ac", frame)); err != nil {
			t.Fatal(err)
		}
		streams, lengths, _ := bands(t, out.Bytes())
		if len(lengths) != 1 || lengths[0] < frame-2 || lengths[0] > frame || !utf8.ValidString(streams[3]) {
			t.Errorf("%v", lengths)
		}
	}
}

// failing takes some bytes and then fails, or says less than the truth.
type failing struct {
	room int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	n := min(f.room, len(p))
	f.room -= n
	if n < len(p) {
		return n, f.err
	}
	return n, nil
}

func TestSidebandTellsWhatIsWritten(t *testing.T) {
	gone := errors.New("the client is gone")
	p := make([]byte, 3000)
	for room, want := range map[int]int{0: 0, 4: 0, 5: 0, 999: 0, 1000: 995, 1003: 995, 1999: 995, 2000: 1990} {
		n, err := pktline.NewSideband(&failing{room, gone}, pktline.SidebandFrame).Write(p)
		if n != want || !errors.Is(err, gone) {
			t.Errorf("room for %d: %d, %v", room, n, err)
		}
	}
	for _, room := range []int{2, 7} {
		if _, err := pktline.NewSideband(&failing{room, nil}, pktline.SidebandFrame).Write(p); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("a writer that takes less than it is given: %v", err)
		}
	}
	if err := pktline.NewSideband(&failing{0, gone}, pktline.SidebandFrame).Flush(); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

func TestSidebandAllocatesNothing(t *testing.T) {
	s, p := pktline.NewSideband(io.Discard, pktline.Sideband64kFrame), make([]byte, 100_000)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := s.Write(p); err != nil {
			t.Fatal(err)
		}
		if err := s.Progress(p[:10]); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A frame without room for a byte would never end the work.
func TestSidebandFramesHaveRoom(t *testing.T) {
	for _, frame := range []int{0, 5, pktline.MaxFrame + 1} {
		for name, f := range map[string]func(){
			"NewSideband": func() { pktline.NewSideband(io.Discard, frame) },
			"AppendBand":  func() { pktline.AppendBand(nil, frame, pktline.BandData, []byte("x")) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s takes frames of %d bytes", name, frame)
					}
				}()
				f()
			}()
		}
	}
}
