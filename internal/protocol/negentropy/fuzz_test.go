package negentropy_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/negentropy"
)

// fuzzSets returns two sets of up to 200 items that lie close together, and a
// frame limit: none, the least, or one below the least.
func fuzzSets(shape uint64) (client, server []negentropy.Item, limit int) {
	r := seeded(shape)
	who := overlaps[[]string{"equal", "half", "few differ", "disjoint"}[shape/2%4]]
	client, server = randomSets(r, int(shape/8%200), clocks[[]string{"crowded", "spread"}[shape%2]], who)
	return client, server, []int{0, 0, 4096, 1}[shape/2000%4]
}

func FuzzRespond(f *testing.F) {
	for shape := uint64(0); shape < 8000; shape += 617 {
		client, server, _ := fuzzSets(shape)
		c, s := set(client...), set(server...)
		first := negentropy.NewInitiator(c, 0).Start()
		answer, _ := negentropy.Respond(s, 0, first)
		second, _, _, _ := negentropy.NewInitiator(c, 0).Step(answer)
		for _, msg := range [][]byte{first, answer, second} {
			f.Add(shape, msg)
		}
	}
	f.Add(uint64(0), newMessage().bound(0).skip().bound(0).print([16]byte{1}).Bytes())
	f.Add(uint64(1500), newMessage().bound(1<<63).skip().bound(1<<63).ids(rep(1), rep(1)).Bytes())
	f.Add(uint64(1500), append([]byte{0x61}, overfull(counted(3000))...))
	f.Fuzz(func(t *testing.T, shape uint64, msg []byte) {
		_, server, limit := fuzzSets(shape)
		s := set(server...)
		reply, err := negentropy.Respond(s, limit, msg)
		if err != nil {
			if reply != nil || !errors.Is(err, negentropy.ErrMalformed) {
				t.Fatalf("reply %x, error %v", reply, err)
			}
			return
		}
		wantBounded(t, s, limit, msg, reply)
		if msg[0] != 0x61 {
			return
		}
		if limit == 0 {
			wantAnswer(t, s, true, msg, reply)
		} else {
			wantTrue(t, s, reply)
		}
		if _, have, need, err := negentropy.NewInitiator(s, 0).Step(reply); err != nil || len(have)+len(need) > 0 {
			t.Fatalf("against itself: have %x, need %x, error %v", have, need, err)
		}
	})
}

// wantBounded checks the length of a reply: within the frame limit, or else in
// proportion to the set and the number of ranges asked about.
func wantBounded(t *testing.T, s *negentropy.Set, limit int, msg, reply []byte) {
	t.Helper()
	most := 1 + 100*(len(msg)/3) + 64*s.Len()
	if limit > 0 {
		most = min(most, max(limit, negentropy.MinFrameLimit))
	}
	if len(reply) > most {
		t.Fatalf("%d bytes answer %d, over %d items, limit %d", len(reply), len(msg), s.Len(), limit)
	}
}

// FuzzInitiatorStep plays a responder by a script that is repeated for ever:
// each step is a message, or an honest reply with some bytes changed.
func FuzzInitiatorStep(f *testing.F) {
	for shape := uint64(0); shape < 8000; shape += 617 {
		_, server, _ := fuzzSets(shape)
		list := newMessage().bound(0).ids(idsOf(server[:min(4, len(server))])...).Bytes()
		f.Add(shape, []byte{2, 0, 0})
		f.Add(shape, []byte{2, 60, 0xff, 2, 0, 0, 4, 20, 7, 3, 9})
		f.Add(shape, slices.Concat([]byte{byte(2*len(list) + 1)}, list, []byte{2, 5, 1}))
	}
	f.Add(uint64(1500), slices.Concat([]byte{41}, newMessage().bound(0).print([16]byte{1}).Bytes()))
	f.Fuzz(func(t *testing.T, shape uint64, script []byte) {
		const maxNeed = 40
		client, server, limit := fuzzSets(shape)
		c, s := set(client...), set(server...)
		n := negentropy.NewInitiator(c, limit)
		n.SetMaxNeed(maxNeed)
		told := [2]map[[32]byte]bool{{}, {}}
		msg, rest := n.Start(), script
		for rounds := 0; msg != nil; rounds++ {
			if rounds > negentropy.MaxIdle*(2*c.Len()+maxNeed+2) {
				t.Fatal("no end")
			}
			var answer []byte
			answer, rest = scripted(t, s, msg, rest)
			if len(rest) == 0 {
				rest = script
			}
			reply, have, need, err := n.Step(answer)
			wantNews(t, told, c, answer, have, need)
			if err != nil || reply == nil {
				if reply != nil {
					t.Fatalf("reply %x with error %v", reply, err)
				}
				break
			}
			wantBounded(t, c, limit, answer, reply)
			if limit == 0 {
				wantAnswer(t, c, false, answer, reply)
			} else {
				wantTrue(t, c, reply)
			}
			msg = reply
		}
	})
}

// scripted returns the next answer of the script and what is left of it. The
// first byte of a step tells its length and kind: an odd one is followed by a
// message, an even one by places and values to change in the honest answer.
func scripted(t *testing.T, s *negentropy.Set, msg, script []byte) (answer, rest []byte) {
	t.Helper()
	if len(script) == 0 {
		return respond(t, s, 0, msg), nil
	}
	n := min(int(script[0]/2), len(script)-1)
	step, rest := script[1:1+n], script[1+n:]
	if script[0]%2 == 1 {
		return step, rest
	}
	answer = respond(t, s, 0, msg)
	for ; len(step) >= 2; step = step[2:] {
		answer[int(step[0])%len(answer)] ^= step[1]
	}
	return answer, rest
}

// wantNews checks what one step told: own ids as have, received ids as need,
// none of them a second time.
func wantNews(t *testing.T, told [2]map[[32]byte]bool, own *negentropy.Set, answer []byte, have, need [][32]byte) {
	t.Helper()
	if len(need) > len(answer)/32 {
		t.Fatalf("%d bytes make %d ids needed", len(answer), len(need))
	}
	for kind, ids := range [2][][32]byte{have, need} {
		for _, id := range ids {
			if told[kind][id] {
				t.Fatalf("%x is told twice", id)
			}
			told[kind][id] = true
		}
	}
	for _, id := range have {
		if !slices.Contains(idsOf(itemsOf(own)), id) {
			t.Fatalf("have %x, which is not own", id)
		}
	}
}
