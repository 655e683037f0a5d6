package pktline_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

// FuzzReader reads a stream to its end or its first fault: nothing past the frames is taken, nothing past the bound, and the
// frames written again are the bytes that were taken.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"", "0000", "0004", "0006a\n0005a000bfoobar\n0004", "0014command=ls-refs\n00010009peel\n0000", "0032want 0000000000000000000000000000000000000000\n00000009done\n",
		"0005aPACK", "fff0", "FFF0x", "0003", "000", "zzzz",
	} {
		f.Add([]byte(s), uint16(100))
		f.Add([]byte(s), uint16(6))
	}
	f.Fuzz(func(t *testing.T, stream []byte, bound uint16) {
		most := int64(bound)
		in := bytes.NewReader(stream)
		r := pktline.NewReader(in, most)
		var again []byte
		for {
			before := in.Len()
			kind, payload, err := r.Next()
			if err != nil {
				if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, pktline.ErrMalformed) && !errors.Is(err, pktline.ErrTooMuch) {
					t.Fatalf("%v", err)
				}
				if errors.Is(err, pktline.ErrMalformed) && before-in.Len() != 4 {
					t.Fatalf("%d bytes are read for a length", before-in.Len())
				}
				break
			}
			again = appendFrame(again, kind, payload)
			if int(r.Taken()) != len(again) || len(stream)-in.Len() != len(again) {
				t.Fatalf("%d bytes are taken, %d are said to be, %d are in the frames", len(stream)-in.Len(), r.Taken(), len(again))
			}
		}
		if int64(len(stream)-in.Len()) > most {
			t.Fatalf("%d bytes are read within %d", len(stream)-in.Len(), most)
		}
		if taken := stream[:len(again)]; !bytes.EqualFold(again, taken) { // lengths may come in upper case
			t.Fatalf("%q is read as %q", taken, again)
		}
	})
}

func appendFrame(dst []byte, kind pktline.Kind, payload []byte) []byte {
	switch kind {
	case pktline.Flush:
		return pktline.AppendFlush(dst)
	case pktline.Delim:
		return pktline.AppendDelim(dst)
	case pktline.ResponseEnd:
		return pktline.AppendResponseEnd(dst)
	}
	return pktline.Append(dst, payload)
}

// FuzzSideband writes streams in turns, as script says, and takes them apart again.
func FuzzSideband(f *testing.F) {
	f.Add([]byte{}, []byte("PACK"), uint16(1000))
	f.Add([]byte{1, 3, 2, 0, 5, 1}, []byte("some bytes of a pack"), uint16(6))
	f.Add([]byte{255, 254, 253}, bytes.Repeat([]byte("0123456789"), 100), uint16(65520))
	f.Fuzz(func(t *testing.T, script, data []byte, frame uint16) {
		if frame < 6 || frame > pktline.MaxFrame {
			return
		}
		var out bytes.Buffer
		s := pktline.NewSideband(&out, int(frame))
		want := map[byte][]byte{}
		for _, step := range script {
			part := data[:min(int(step)*7, len(data))]
			data = data[len(part):]
			var err error
			switch step % 3 {
			case 0:
				_, err = s.Write(part)
				want[1] = append(want[1], part...)
			case 1:
				err = s.Progress(part)
				want[2] = append(want[2], part...)
			default:
				err = s.KeepAlive()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		streams, lengths, flushed := bands(t, out.Bytes())
		for _, n := range lengths {
			if n > int(frame) {
				t.Fatalf("a frame of %d bytes, %d at most", n, frame)
			}
		}
		if !flushed || streams[1] != string(want[1]) || streams[2] != string(want[2]) || streams[3] != "" {
			t.Fatalf("%q is read as %q", want, streams)
		}
	})
}
