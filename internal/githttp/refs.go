package githttp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/gitwire"
)

// byEvent is where the refs of pull requests are.
const byEvent = "refs/nostr/"

// advertise answers info/refs.
func (x *exchange) advertise() error {
	make := func() []byte {
		refs := fewer(shownRefs(&x.repo), shownByEvent)
		return gitwire.AppendAdvertisement(nil, x.service, x.version, refs, x.agent)
	}
	x.counts.count(x.service, x.version, FromLog)
	if x.version == 2 && x.service == gitwire.UploadPack { // the same for all repositories
		x.reply("advertisement", make())
		return nil
	}
	x.reply("advertisement", x.text(fmt.Sprint("info/refs ", x.service, " ", x.version), make))
	return nil
}

// list answers ls-refs.
func (x *exchange) list(q gitwire.Request) {
	make := func() []byte { return q.LsRefs.AppendAnswer(nil, shownRefs(&x.repo)) }
	x.counts.count(x.service, x.version, FromLog)
	q.Agent = ""
	const longest = 8 << 10
	if asked := q.AppendTo(nil); len(asked) <= longest {
		x.reply("result", x.text(string(asked), make))
		return
	}
	x.reply("result", make())
}

// text gives what was made of the same refs before, or makes it, at the cost of the client.
func (x *exchange) text(asked string, make func() []byte) []byte {
	if x.repo.Dir == "" {
		return make()
	}
	k := textKey{x.repo.Dir, x.repo.Generation, asked}
	body, ok := x.texts.get(k)
	if !ok {
		body = make()
		x.from.Visitor.Charge(2 * len(shownRefs(&x.repo).List)) // about 2 µs each
		x.texts.put(k, body)
	}
	return body
}

// fewer leaves out refs of pull requests where there are more than that many.
func fewer(refs *gitwire.Refs, most int) *gitwire.Refs {
	under := func(r gitwire.Ref, name string) int { return strings.Compare(r.Name, name) }
	from, _ := slices.BinarySearchFunc(refs.List, byEvent, under)
	to, _ := slices.BinarySearchFunc(refs.List, strings.TrimSuffix(byEvent, "/")+"0", under) // which follows the slash
	if to-from <= most {
		return refs
	}
	return &gitwire.Refs{Head: refs.Head, List: slices.Concat(refs.List[:from+most], refs.List[to:])}
}
