package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The engine's log files consist of blocks, and blocks of chunks. A chunk has a checksum (4 bytes), a length (2), an encoding (1), the number of
// the log (4), in the newer encodings how far the file was durable when the chunk was written (8), and the payload. A record is one chunk, or
// a first, some middle ones and a last. Numbers are little endian.
const (
	walBlock      = 32 << 10
	walHeader     = 7 + 4
	walSyncHeader = walHeader + 8
	walFull       = 5 // the first encoding with a number; first, middle and last follow
	walSyncFull   = 9 // the first encoding that also tells what was durable; three follow
	walEncodings  = 13
)

// walFile reads a log file of the engine without the engine. A damaged place costs no more than its record, and walFile tells damage from the end
// that a crash left.
type walFile struct {
	b      []byte
	number uint32
	newest bool // no log has a higher number

	unsynced bool // commits did not wait for the disk
}

func openWAL(fsys vfs.FS, path string) (*walFile, error) {
	number, err := strconv.ParseUint(strings.TrimSuffix(fsys.PathBase(path), ".log"), 10, 32)
	if err != nil {
		return nil, err
	}
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return &walFile{b: b, number: uint32(number)}, errors.Join(err, f.Close())
}

// walChunk is one chunk.
type walChunk struct {
	payload []byte
	part    byte // 0 is a whole record; 1, 2 and 3 are its first, a middle and its last part
	durable int  // everything before this place was durable when the chunk was written
	end     int
}

// chunk returns the chunk at a place, if there is a whole one of this log.
func (w *walFile) chunk(at int) (c walChunk, ok bool) {
	c, number, ok := w.anyChunk(at)
	return c, ok && number == w.number
}

// anyChunk returns the chunk at a place, if there is a whole one, and the number of its log: the engine writes over files of older logs.
func (w *walFile) anyChunk(at int) (c walChunk, number uint32, ok bool) {
	b := w.b[at:min(len(w.b), at/walBlock*walBlock+walBlock)]
	if len(b) < walHeader || b[6] < walFull || b[6] >= walEncodings {
		return c, 0, false
	}
	number = binary.LittleEndian.Uint32(b[7:])
	header := walHeader
	if c.part = (b[6] - walFull) % 4; b[6] >= walSyncFull {
		if header = walSyncHeader; len(b) < header {
			return c, 0, false
		}
		c.durable = int(min(binary.LittleEndian.Uint64(b[walHeader:]), 1<<62))
	}
	end := header + int(binary.LittleEndian.Uint16(b[4:]))
	if end > len(b) || walSum(b[6:end]) != binary.LittleEndian.Uint32(b) {
		return c, 0, false
	}
	c.payload, c.end = b[header:end], at+end
	return c, number, true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func walSum(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return c>>15 | c<<17 + 0xa282ead8
}

// each calls do with every record, and returns the damaged places: where something was durable and cannot be read.
func (w *walFile) each(do func(record []byte) error) (damaged []int, err error) {
	var record []byte
	h := holes{unsynced: w.unsynced}
	whole := false // the record so far
	for at := 0; at < len(w.b); {
		c, ok := w.chunk(at)
		if !ok {
			end := at/walBlock*walBlock + walBlock
			if w.closed(at) {
				return h.places(true, w.newest), nil
			}
			blank := w.blank(at)
			if !blank || end-at >= walSyncHeader { // less is left empty
				h.lost(at)
				whole = false
			}
			older, _, other := w.anyChunk(at)
			if at++; blank {
				at = end
			} else if other { // what it holds may look like the end of this log
				at = older.end
			}
			continue
		}
		at = c.end
		h.chunk(c.durable)
		switch c.part {
		case 0, 1:
			record, whole = append(record[:0], c.payload...), true
		default:
			record = append(record, c.payload...)
		}
		if whole && (c.part == 0 || c.part == 3) {
			h.record()
			if err := do(record); err != nil {
				return h.places(false, w.newest), err
			}
			whole = false
		}
	}
	return h.places(false, w.newest), nil
}

// closed reports whether the engine has closed the log here, which it does when all of it is durable: with an empty
// chunk under the next number.
func (w *walFile) closed(at int) bool {
	if w.b[at] != 0 { // most of what is looked at
		return false
	}
	end := binary.LittleEndian.AppendUint32([]byte{6: walFull}, w.number+1)
	return bytes.HasPrefix(w.b[at:], end)
}

// blank reports whether the rest of the block from a place on is empty.
func (w *walFile) blank(at int) bool {
	b := w.b[at:min(len(w.b), at/walBlock*walBlock+walBlock)]
	return b[0] == 0 && len(bytes.TrimLeft(b, "\x00")) == 0
}

// eachVersion calls do with every version in a committed batch.
func eachVersion(repr []byte, do func(Version) error) error {
	h, ok := batchrepr.ReadHeader(repr)
	if !ok {
		return nil
	}
	r := batchrepr.Read(repr)
	for number := uint64(h.SeqNum); ; number++ {
		kind, key, value, ok, err := r.Next()
		if err != nil || !ok {
			return nil // the record's checksum vouches for the batch
		}
		if sets, ok := kindOf(kind); ok {
			if err := do(Version{Key: key, Value: value, Number: number, Gone: !sets}); err != nil {
				return err
			}
		}
	}
}

// ReadWAL calls do with every version in a log file, and returns how many places in it are damaged.
func ReadWAL(fsys vfs.FS, path string, do func(Version) error) (bad int, err error) {
	w, err := openWAL(fsys, path)
	if err != nil {
		return 1, nil
	}
	damaged, err := w.each(func(record []byte) error { return eachVersion(record, do) })
	return len(damaged), err
}
