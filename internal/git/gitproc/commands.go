package gitproc

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// word is a part of an argument vector. Literals become words by themselves. Of values from elsewhere, this file makes words only of numbers,
// of parsed filters and object ids, of names without slashes that begin with a letter or a digit, and of paths of graspd's own.
type word string

// Command is a command of git with its options. It has no names of refs or files, and of object ids only those of Compare and what follows there:
// all others go by the standard input.
type Command struct {
	name     word
	settings []word // name=value, beside those that all processes have
	args     []word
	path     bool // the repository is the last argument, and not in the environment
	starts   bool // it has another process do the work, and waits for that one
	hands    bool // the same, and beside the refs it has little in memory itself
}

func (c Command) String() string { return "git " + string(c.name) }

func number(option word, n int64) word { return option + word(strconv.FormatInt(n, 10)) }

// hex is an object id, which no command takes for an option.
func hex(id gitwire.ObjectID) word { return word(id.String()) }

func version() Command { return Command{name: "version", args: []word{"--build-options"}} }

// lazyTransport is the name of a transport that does not exist.
const lazyTransport = "graspd-probe"

// lazyFetch asks for a missing object, of a repository whose settings say that it lacks some which a remote has.
func lazyFetch() Command {
	return Command{
		name:     "cat-file",
		settings: []word{"remote.probe.promisor=true", "remote.probe.url=" + lazyTransport + "::x"},
		args:     []word{"-e", "0123456789012345678901234567890123456789"},
	}
}

// IndexPack reads a pack of at most maxBytes, completes a thin one with objects of the repository, and keeps it with its index in the object
// directory. It prints "pack\t" and the checksum that names the pack. It refuses objects as ObjectChecks says.
func IndexPack(maxBytes int64) Command {
	return Command{name: "index-pack", args: []word{"--stdin", "--fix-thin", strict, number("--max-input-size=", maxBytes)}}
}

// Reach reads ids, some behind ^. It prints the ids of all objects that the plain ids lead to and those behind ^ do not, with "commit " before
// that of a commit. It fails where one of these objects is missing.
func Reach() Command {
	return Command{name: "rev-list", args: []word{"--objects", "--no-object-names", "--format=", "--stdin"}}
}

// Unreached reads ids. It prints those of them that are commits or annotated tags and to which no ref leads, among others that those lead to.
func Unreached() Command {
	return Command{name: "rev-list", args: []word{"--objects", "--no-object-names", "--filter=tree:0", "--filter-provided-objects", "--stdin", "--not", "--all"}}
}

// Measure reads ids and prints, in order, the size of each object in bytes or "<id> missing".
func Measure() Command {
	return Command{name: "cat-file", args: []word{"--batch-check=%(objectsize)", "--buffer"}}
}

// SizeUp prints "<id> <type> <size in bytes>" for each object that git finds, in the order of the packs.
func SizeUp() Command {
	return Command{name: "cat-file", args: []word{"--batch-check=%(objectname) %(objecttype) %(objectsize)", "--batch-all-objects", "--unordered", "--buffer"}}
}

// Inspect reads commands of cat-file (info, contents and flush) with expressions for objects, and answers them in order: with a line of the id,
// the type and the size in bytes, behind which contents follow with a line feed, or with "<expression> missing".
func Inspect() Command {
	return Command{name: "cat-file", args: []word{"--batch-command", "--buffer"}}
}

// PackThese reads ids, writes these objects as a pack with its index to base-<checksum>.pack and .idx, and prints the checksum. base is a path
// of graspd's own.
func PackThese(base string) Command {
	return Command{name: "pack-objects", args: []word{"-q", "--delta-base-offset", "--end-of-options", word(base)}}
}

// PackReachable reads ids and prints a pack of all objects that they lead to.
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

// UploadPack answers one request of a client, in the protocol of its Run. With bitmaps it packs whole histories sooner, but packs of a few
// commits become larger.
func UploadPack(bitmaps bool) Command {
	c := Command{name: "upload-pack", args: []word{"--stateless-rpc", "--strict"}, path: true, starts: true}
	if !bitmaps {
		c.settings = []word{"pack.useBitmaps=false"}
	}
	return c
}

// islands keep git from storing objects that everybody clones as deltas of objects that only pull requests have.
var islands = []word{"repack.useDeltaIslands=true", "pack.island=^refs/heads/", "pack.island=^refs/tags/"}

// RepackAll makes one pack, with a bitmap, of the objects that refs lead to, and one of the rest. It drops objects of the rest that are older
// than expire, a unix time in seconds.
func RepackAll(expire int64) Command {
	return Command{name: "repack", settings: islands, hands: true,
		args: []word{"-q", "-n", "-d", "-b", "--cruft", number("--cruft-expiration=@", expire) + " +0000"}}
}

// RepackGeometric combines small packs so that each is at least twice as large as all smaller ones, under one index with a bitmap.
func RepackGeometric() Command {
	return Command{name: "repack", settings: islands, hands: true, args: []word{"-q", "-n", "-d", "--geometric=2", "--write-midx", "--write-bitmap-index"}}
}

// Commits reads ids, some behind ^. It prints the ids of the newest most commits that the plain ids lead to and those behind ^ do not, the newest
// first; with mainline only along first parents.
func Commits(most int, mainline bool) Command {
	c := Command{name: "rev-list", args: []word{number("--max-count=", int64(most)), "--stdin"}}
	if mainline {
		c.args = append(c.args, "--first-parent")
	}
	return c
}

// compare keeps git from doing much to find renames.
const compare = "-l200"

// Compare prints how two commits or trees differ: records of --raw and --numstat with -z, an empty record, and the patch. Nothing of the
// repository decides what is run or shown.
func Compare(old, new gitwire.ObjectID) Command {
	return Command{name: "diff-tree", settings: []word{"core.quotePath=false"}, args: []word{
		"-r", "-z", "--raw", "--numstat", "--patch", "--full-index", "--find-renames", compare, "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short",
		hex(old), hex(new),
	}}
}

// MergeBase prints a best common ancestor of two commits. It fails with code 1 where they have none.
func MergeBase(a, b gitwire.ObjectID) Command {
	return Command{name: "merge-base", args: []word{hex(a), hex(b)}}
}

// Merge merges two commits into a tree, which it writes. It prints records: the id of the tree, and the paths in conflict. It fails with code 1 where
// there are conflicts.
func Merge(ours, theirs gitwire.ObjectID) Command {
	return Command{name: "merge-tree", settings: []word{"merge.renameLimit=200", "merge.directoryRenames=false"},
		args: []word{"--write-tree", "-z", "--name-only", "--no-messages", hex(ours), hex(theirs)}}
}

// Archive prints the files of a commit as a .tar.gz, which git compresses itself, within a directory of a name that Plain has made. The same commit
// and name make the same bytes.
func Archive(commit gitwire.ObjectID, name string) Command {
	return Command{name: "archive", args: []word{"--format=tar.gz", "--prefix=" + word(Plain(name)) + "/", hex(commit) + "^{commit}"}}
}

const mostPlain = 100 // bytes of a name

// Plain makes the name of a file of a text: its letters, digits, dots and underscores, each other character a dash, and no dot or dash at the beginning.
func Plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.L, unicode.N, unicode.M) || r == '.' || r == '_' || r == '+' {
			return r
		}
		return '-'
	}, strings.ToValidUTF8(text, "-"))
	text, _ = safetext.Cut(strings.TrimLeft(text, ".-_+"), mostPlain)
	return cmp.Or(text, "files")
}
