package pktline_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

func BenchmarkRead(b *testing.B) {
	var stream []byte
	for range 1000 {
		stream = pktline.Append(stream, "have 94cfb0ac173a98577c6f9337a85e03989d4e58be\n")
	}
	in := bytes.NewReader(stream)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		in.Reset(stream)
		r := pktline.NewReader(in, plenty)
		for {
			if _, _, err := r.Next(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkSideband(b *testing.B) {
	pack := make([]byte, 1<<20)
	s := pktline.NewSideband(io.Discard, pktline.Sideband64kFrame)
	b.SetBytes(int64(len(pack)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Write(pack); err != nil {
			b.Fatal(err)
		}
	}
}
