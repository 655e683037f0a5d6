package gitwire

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

// What is offered, in git's order. Agent and symref stand between and after.
const (
	uploadCapabilities = "multi_ack thin-pack side-band side-band-64k ofs-delta shallow deepen-since deepen-not" +
		" deepen-relative no-progress include-tag multi_ack_detailed allow-tip-sha1-in-want allow-reachable-sha1-in-want no-done"
	receiveCapabilities = "report-status report-status-v2 delete-refs side-band-64k quiet atomic ofs-delta push-options"
	fetchFeatures       = "shallow wait-for-done filter ref-in-want sideband-all"
)

// AppendAdvertisement appends to dst the body of the answer to info/refs?service=…: what the service offers, and the refs. In version 2
// there are no refs, as clients ask for them. There is no version 2 of pushes, so ReceivePack answers as version 0. agent is what the
// server calls itself. The caller chooses which refs are in refs.
func AppendAdvertisement(dst []byte, service Service, v Version, refs *Refs, agent string) []byte {
	if v == 2 && service == UploadPack {
		return appendCapabilities(dst, agent)
	}
	const head = 512 // the first lines and their capabilities
	dst = slices.Grow(dst, head+len(refs.Head)+refs.size())
	dst = pktline.AppendFlush(pktline.Append(dst, "# service="+service.String()+"\n"))
	if v == 1 {
		dst = pktline.Append(dst, "version 1\n")
	}
	if service == UploadPack {
		dst = appendUploadRefs(dst, refs, agent)
	} else {
		dst = appendReceiveRefs(dst, refs, agent)
	}
	return pktline.AppendFlush(dst)
}

// appendCapabilities appends what version 2 offers.
func appendCapabilities(dst []byte, agent string) []byte {
	dst = pktline.Append(dst, "version 2\n")
	dst = pktline.Append(dst, "agent="+cleanAgent(agent)+"\n")
	dst = pktline.Append(dst, "ls-refs=unborn\n")
	dst = pktline.Append(dst, "fetch="+fetchFeatures+"\n")
	dst = pktline.Append(dst, "server-option\n")
	dst = pktline.Append(dst, "object-format=sha1\n")
	dst = pktline.Append(dst, "object-info\n")
	return pktline.AppendFlush(dst)
}

func appendUploadRefs(dst []byte, refs *Refs, agent string) []byte {
	capabilities := uploadCapabilities
	head, born := refs.Find("HEAD")
	if born {
		capabilities += " symref=HEAD:" + refs.Head
	}
	capabilities += " filter object-format=sha1 agent=" + cleanAgent(agent)
	if born {
		dst = appendRef(dst, &head, capabilities, true)
		capabilities = ""
	}
	for i := range refs.List {
		dst = appendRef(dst, &refs.List[i], capabilities, true)
		capabilities = ""
	}
	return appendNoRefs(dst, capabilities)
}

func appendReceiveRefs(dst []byte, refs *Refs, agent string) []byte {
	capabilities := receiveCapabilities + " object-format=sha1 agent=" + cleanAgent(agent)
	for i := range refs.List {
		dst = appendRef(dst, &refs.List[i], capabilities, false)
		capabilities = ""
	}
	return appendNoRefs(dst, capabilities)
}

// appendRef appends the line of a ref, with the capabilities if it is the first, and the line of what its tag is about.
func appendRef(dst []byte, ref *Ref, capabilities string, peel bool) []byte {
	start := len(dst)
	dst = append(append(ref.ID.AppendHex(pktline.Begin(dst)), ' '), ref.Name...)
	if capabilities != "" {
		dst = append(append(dst, 0), capabilities...)
	}
	dst = pktline.End(append(dst, '\n'), start)
	if peel && !ref.Peeled.IsZero() {
		start = len(dst)
		dst = append(append(ref.Peeled.AppendHex(pktline.Begin(dst)), ' '), ref.Name...)
		dst = pktline.End(append(dst, "^{}\n"...), start)
	}
	return dst
}

// appendNoRefs carries the capabilities where no ref did.
func appendNoRefs(dst []byte, capabilities string) []byte {
	if capabilities == "" {
		return dst
	}
	return appendRef(dst, &Ref{Name: "capabilities^{}"}, capabilities, false)
}
