package gitwire

import (
	"bytes"
	"strconv"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

// ObjectInfo asks about objects (gitprotocol-v2(5)).
type ObjectInfo struct {
	Size bool // of the object's content, in bytes; nothing else can be asked
	IDs  []ObjectID
}

type objectInfoReader struct {
	info *ObjectInfo
	ids  ids
}

func (r *objectInfoReader) argument(line []byte) error {
	if string(line) == "size" {
		r.info.Size = true
		return nil
	}
	text, ok := bytes.CutPrefix(line, []byte("oid "))
	if !ok {
		return refuse("object-info: unexpected line: %s", quote(line))
	}
	id, err := ParseObjectID(text)
	if err != nil {
		return err
	}
	if !r.ids.add(id, MaxInfo) {
		return refuse("object-info: more than %d objects", MaxInfo)
	}
	r.info.IDs = r.ids.list
	return nil
}

func (q *ObjectInfo) appendArguments(dst []byte) []byte {
	if q.Size {
		dst = pktline.Append(dst, "size\n")
	}
	return appendIDs(dst, "oid ", q.IDs)
}

// appendIDs appends a line for each id.
func appendIDs(dst []byte, word string, list []ObjectID) []byte {
	for i := range list {
		start := len(dst)
		dst = list[i].AppendHex(append(pktline.Begin(dst), word...))
		dst = pktline.End(append(dst, '\n'), start)
	}
	return dst
}

// AppendAnswer appends to dst the sizes of the objects in bytes. sizes has one for each id, in the order of IDs; below 0 for an object that
// is not there.
func (q *ObjectInfo) AppendAnswer(dst []byte, sizes []int64) []byte {
	if q.Size && len(q.IDs) > 0 {
		dst = pktline.Append(dst, "size")
	}
	for i := range q.IDs {
		start := len(dst)
		dst = q.IDs[i].AppendHex(pktline.Begin(dst))
		if q.Size {
			dst = append(dst, ' ')
			if sizes[i] >= 0 {
				dst = strconv.AppendInt(dst, sizes[i], 10)
			}
		}
		dst = pktline.End(dst, start)
	}
	return pktline.AppendFlush(dst)
}
