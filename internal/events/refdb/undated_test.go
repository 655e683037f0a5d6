package refdb

import "encoding/binary"

// AppendUndated appends the row as the format before wrote it.
func AppendUndated(dst []byte, r Repository) []byte {
	all := r.Refs.PullRequests
	r.Refs.PullRequests = nil
	row := r.Append(nil)
	row[0] = undated
	tail := binary.AppendUvarint(nil, uint64(len(r.Peeled)))
	for _, id := range sortedKeys(r.Peeled) {
		tail = appendID(appendID(tail, id), r.Peeled[id])
	}
	row = row[:len(row)-len(tail)-1] // and the number of pull requests
	return append(append(dst, appendRefs(row, all.Set())...), tail...)
}
