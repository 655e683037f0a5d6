package githttp

import (
	"fmt"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// advertise answers info/refs.
func (x *exchange) advertise() error {
	make := func() []byte {
		refs := x.repo.Newest
		if refs == nil {
			refs = shownRefs(&x.repo)
		}
		return gitwire.AppendAdvertisement(nil, x.service, x.version, refs, x.agent)
	}
	x.count(FromLog)
	if x.version == 2 && x.service == gitwire.UploadPack { // such an advertisement is the same for all repositories
		x.reply("advertisement", make())
		return nil
	}
	x.reply("advertisement", x.text(fmt.Sprint("info/refs ", x.service, " ", x.version), make))
	return nil
}

// list answers ls-refs.
func (x *exchange) list(q gitwire.Request) {
	anew := func() []byte { return q.LsRefs.AppendAnswer(nil, shownRefs(&x.repo)) }
	x.count(FromLog)
	q.Agent = ""
	const longest = 8 << 10
	if asked := q.AppendTo(make([]byte, 0, 256)); len(asked) <= longest {
		x.reply("result", x.text(string(asked), anew))
		return
	}
	x.reply("result", x.made(anew))
}

// text returns the answer that was made of the same refs before, or has make make it and charges the client.
func (x *exchange) text(asked string, make func() []byte) []byte {
	if x.repo.Dir == "" {
		return make()
	}
	k := textKey{x.repo.Dir, x.repo.Generation, asked}
	body, ok := x.texts.get(k)
	if !ok {
		body = x.made(make)
		x.texts.put(k, body)
	}
	return body
}

// made has make make an answer, and charges the client for each ref of the repository.
func (x *exchange) made(make func() []byte) []byte {
	x.from.Visitor.Charge(2 * len(shownRefs(&x.repo).List)) // each takes about 2 µs
	return make()
}
