package gitwire

import (
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// emptyPack is a pack of version 2 without objects, and its checksum.
const emptyPack = "PACK\x00\x00\x00\x02\x00\x00\x00\x00\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"

// AppendHead appends to dst the part of the answer that comes before the pack which pack-objects makes ([WorkPack]), or the whole answer
// ([WorkNone]). For [WorkUpload] it appends nothing.
func (f *Fetch) AppendHead(dst []byte) []byte {
	switch work := f.Work(); {
	case work == WorkUpload, len(f.Wants)+len(f.WantRefs) == 0:
		return dst
	case f.Version < 2:
		if f.Bare {
			return dst
		}
		return pktline.Append(dst, "NAK\n")
	case work == WorkNone:
		return f.appendNothingNew(dst)
	}
	return f.appendPackHead(dst)
}

// appendNothingNew answers a client that has what it wants.
func (f *Fetch) appendNothingNew(dst []byte) []byte {
	if !f.Done {
		dst = f.appendLine(dst, "acknowledgments\n")
		for _, id := range f.Tips() {
			dst = f.appendLine(dst, "ACK "+id.String()+"\n")
		}
		dst = pktline.AppendDelim(f.appendLine(dst, "ready\n"))
	}
	dst = f.appendPackHead(dst)
	dst = pktline.AppendBand(dst, pktline.Sideband64kFrame, pktline.BandData, []byte(emptyPack))
	return pktline.AppendFlush(dst)
}

// appendPackHead appends the sections before the pack of version 2, and the name of its section.
func (f *Fetch) appendPackHead(dst []byte) []byte {
	if len(f.wanted) > 0 {
		dst = f.appendLine(dst, "wanted-refs\n")
		for i := range f.wanted {
			dst = f.appendLine(dst, f.wanted[i].ID.String()+" "+f.wanted[i].Name+"\n")
		}
		dst = pktline.AppendDelim(dst)
	}
	return f.appendLine(dst, "packfile\n")
}

// appendLine appends a line, in the data band if all stands in bands.
func (f *Fetch) appendLine(dst []byte, line string) []byte {
	start := len(dst)
	dst = pktline.Begin(dst)
	if f.SidebandAll {
		dst = append(dst, byte(pktline.BandData))
	}
	return pktline.End(append(dst, line...), start)
}

// PackFrame returns how many bytes of the pack a side-band frame has. 0 means that the pack stands in the answer as it is, without a flush
// after it.
func (f *Fetch) PackFrame() int {
	if f.Version == 2 {
		return pktline.Sideband64kFrame
	}
	return f.Sideband
}
