package gitproc

import (
	"strconv"

	"github.com/graspd/graspd/internal/gitwire"
)

// word is a part of an argument vector. Literals become words by themselves; of what comes from elsewhere only numbers, filters
// that were understood and own paths do, below.
type word string

// Command is a command of git with its options. Object ids and names of refs are no part of it: they go by the standard input.
type Command struct {
	name     word
	settings []word // name=value, beside those that all processes have
	args     []word
	path     bool // the repository is the last argument, and not in the environment
}

func (c Command) String() string { return "git " + string(c.name) }

func number(option word, n int64) word { return option + word(strconv.FormatInt(n, 10)) }

func version() Command { return Command{name: "version", args: []word{"--build-options"}} }

// lazyTransport is one that there is not.
const lazyTransport = "graspd-probe"

// lazyFetch asks for an object that is not there of a repository that says to lack some.
func lazyFetch() Command {
	return Command{
		name:     "cat-file",
		settings: []word{"remote.probe.promisor=true", "remote.probe.url=" + lazyTransport + "::x"},
		args:     []word{"-e", "0123456789012345678901234567890123456789"},
	}
}

// strict takes what old histories have and harms nobody (git-fsck(1)), and refuses all else that fsck finds.
const strict = "--strict=zeroPaddedFilemode=ignore,missingSpaceBeforeDate=ignore,badTimezone=ignore,badDateOverflow=ignore," +
	"badDate=ignore,missingEmail=ignore,missingNameBeforeEmail=ignore,badName=ignore"

// IndexPack reads a pack of at most so many bytes, completes a thin one from what is there, and keeps it with its index in the
// object directory. It prints "pack\t" and the checksum that the pack is named by.
func IndexPack(maxBytes int64) Command {
	return Command{name: "index-pack", args: []word{"--stdin", "--fix-thin", strict, number("--max-input-size=", maxBytes)}}
}

// Reach reads ids, those that begin with ^ being what counts as here, and prints the ids of all objects that the others lead to
// and those do not. It fails where one of them is not there.
func Reach() Command {
	return Command{name: "rev-list", args: []word{"--objects", "--no-object-names", "--stdin"}}
}

// Describe reads expressions of ids and prints the id and the type of each, in order: "<id> <type>" or "<expression> missing".
func Describe() Command {
	return Command{name: "cat-file", args: []word{"--batch-check=%(objectname) %(objecttype)", "--buffer"}}
}

// Measure reads ids and prints the size of each object in bytes, in order, or "<id> missing".
func Measure() Command {
	return Command{name: "cat-file", args: []word{"--batch-check=%(objectsize)", "--buffer"}}
}

// Inspect reads commands of cat-file (info, contents and flush) with expressions of ids, and answers each in order: a line of the id, the
// type and the size in bytes, behind which an object's contents follow with a line feed; or "<expression> missing".
func Inspect() Command {
	return Command{name: "cat-file", args: []word{"--batch-command", "--buffer"}}
}

// PackThese reads ids and writes these objects as a pack with its index to base-<checksum>.pack and .idx, of which it prints the
// checksum. Base is a path of ours.
func PackThese(base string) Command {
	return Command{name: "pack-objects", args: []word{"-q", "--delta-base-offset", "--end-of-options", word(base)}}
}

// PackReachable reads ids and writes a pack of all that they lead to.
func PackReachable(ofsDelta, includeTag bool, filter gitwire.Filter) Command {
	c := Command{name: "pack-objects", args: []word{"--revs", "--stdout", "-q"}}
	if ofsDelta {
		c.args = append(c.args, "--delta-base-offset")
	}
	if includeTag {
		c.args = append(c.args, "--include-tag")
	}
	if filter.Kind != gitwire.FilterNone {
		c.args = append(c.args, "--filter="+word(filter.String()))
	}
	return c
}

// UploadPack answers one request of a client, which is in the protocol of its Run. With bitmaps whole histories are packed
// sooner, and few commits larger.
func UploadPack(bitmaps bool) Command {
	c := Command{name: "upload-pack", args: []word{"--stateless-rpc", "--strict"}, path: true}
	if !bitmaps {
		c.settings = []word{"pack.useBitmaps=false"}
	}
	return c
}

// islands keep what pull requests alone have from being a base of what everybody clones.
var islands = []word{"repack.useDeltaIslands=true", "pack.island=^refs/heads/", "pack.island=^refs/tags/"}

// RepackAll makes one pack with a bitmap of what refs lead to, and one of the rest, without what is older than that time in
// seconds since 1970.
func RepackAll(expire int64) Command {
	return Command{name: "repack", settings: islands,
		args: []word{"-q", "-n", "-d", "-b", "--cruft", number("--cruft-expiration=@", expire) + " +0000"}}
}

// RepackGeometric combines small packs so that each is at least twice as large as all smaller ones, under one index with a bitmap.
func RepackGeometric() Command {
	return Command{name: "repack", settings: islands, args: []word{"-q", "-n", "-d", "--geometric=2", "--write-midx", "--write-bitmap-index"}}
}

// Fsck proves that all that refs lead to is there.
func Fsck() Command {
	return Command{name: "fsck", args: []word{"--connectivity-only", "--no-dangling", "--no-progress"}}
}
