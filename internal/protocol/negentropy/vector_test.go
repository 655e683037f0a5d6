package negentropy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/negentropy"
)

// rep returns an id that is one byte repeated.
func rep(b byte) (id [32]byte) {
	for i := range id {
		id[i] = b
	}
	return id
}

func item(time uint64, id [32]byte) negentropy.Item { return negentropy.Item{Time: time, ID: id} }

func set(items ...negentropy.Item) *negentropy.Set { return negentropy.NewSet(items) }

// counted returns n items at the times 1000, 1001, …, whose ids are the hashes
// of the decimal numbers from 0 on.
func counted(n int) []negentropy.Item {
	items := make([]negentropy.Item, n)
	for i := range items {
		items[i] = item(uint64(1000+i), sha256.Sum256([]byte(strconv.Itoa(i))))
	}
	return items
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func wantMessage(t *testing.T, got []byte, want string) {
	t.Helper()
	if !bytes.Equal(got, unhex(t, want)) {
		t.Errorf("got message\n%x, want\n%s", got, strings.ReplaceAll(want, " ", ""))
	}
}

func respond(t *testing.T, s *negentropy.Set, limit int, msg []byte) []byte {
	t.Helper()
	reply, err := negentropy.Respond(s, limit, msg)
	if err != nil {
		t.Fatalf("respond to %x: %v", msg, err)
	}
	return reply
}

func TestVectorEmpty(t *testing.T) {
	wantMessage(t, negentropy.NewInitiator(set(), 0).Start(), "6100000200")
}

func TestVectorOneItem(t *testing.T) {
	got := negentropy.NewInitiator(set(item(10, rep(0xaa))), 0).Start()
	wantMessage(t, got, "6100000201"+strings.Repeat("aa", 32))
}

func TestVectorTwoSides(t *testing.T) {
	client := set(item(10, rep(0xaa)), item(20, rep(0xbb)))
	server := set(item(10, rep(0xaa)), item(20, rep(0xcc)))
	n := negentropy.NewInitiator(client, 0)

	first := n.Start()
	wantMessage(t, first, "6100000202"+strings.Repeat("aa", 32)+strings.Repeat("bb", 32))
	answer := respond(t, server, 0, first)
	wantMessage(t, answer, "6100000202"+strings.Repeat("aa", 32)+strings.Repeat("cc", 32))
	reply, have, need, err := n.Step(answer)
	if reply != nil || err != nil {
		t.Errorf("reply %x, error %v, want the end", reply, err)
	}
	if !slices.Equal(have, [][32]byte{rep(0xbb)}) || !slices.Equal(need, [][32]byte{rep(0xcc)}) {
		t.Errorf("have %x, need %x", have, need)
	}
}

func TestVectorFortyItems(t *testing.T) {
	items := counted(40)
	full, lacking := set(slices.Clone(items)...), set(slices.Clone(items[:39])...)
	n := negentropy.NewInitiator(full, 0)

	first := n.Start()
	if len(first) != 306 {
		t.Errorf("first message has %d bytes, want 306", len(first))
	}
	wantMessage(t, first[:43], "61 876c 00 01 5fa8325ac1981d67039205be427ea7ab"+
		"04 00 01 4c26afdde46dff57f8670d06cb30855b 04 00 01")
	wantMessage(t, respond(t, full, 0, first), "61")

	answer := respond(t, lacking, 0, first)
	id38 := sha256.Sum256([]byte("38"))
	wantMessage(t, answer, "61 880f 00 00 00 00 02 01"+hex.EncodeToString(id38[:]))
	reply, have, need, err := n.Step(answer)
	if reply != nil || err != nil || len(need) != 0 || !slices.Equal(have, [][32]byte{items[39].ID}) {
		t.Errorf("reply %x, have %x, need %x, error %v", reply, have, need, err)
	}
}

func TestVectorEqualTimes(t *testing.T) {
	var items []negentropy.Item
	for i := range 32 {
		items = append(items, item(5, [32]byte{byte(8 * i)}))
	}
	first := negentropy.NewInitiator(set(items...), 0).Start()
	wantMessage(t, first[:25], "61 06 01 10 01 5f8d76972e7002c13dc957973b270129 01 01 20 01")
}

func TestVersions(t *testing.T) {
	for version := range 256 {
		msg := []byte{byte(version), 0xff}
		reply, err := negentropy.Respond(set(), 0, msg)
		_, _, _, stepErr := negentropy.NewInitiator(set(), 0).Step(msg)
		switch {
		case version == 0x61 || version < 0x60 || version > 0x6f:
			wantMalformed(t, msg, err)
			wantMalformed(t, msg, stepErr)
		default:
			if err != nil || !bytes.Equal(reply, []byte{0x61}) {
				t.Errorf("version %#x: responder says %x, %v", version, reply, err)
			}
			wantError(t, msg, stepErr, negentropy.ErrVersion)
		}
	}
}
