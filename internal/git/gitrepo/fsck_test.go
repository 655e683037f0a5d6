package gitrepo_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
)

// packed is a pack under construction, of objects as they are written, whatever git thinks of them.
type packed struct {
	t    testing.TB
	n    uint32
	body bytes.Buffer
}

// The types of objects in packs.
const (
	commitType = 1 + iota
	treeType
	blobType
	tagType
)

var typeNames = [...]string{commitType: "commit", treeType: "tree", blobType: "blob", tagType: "tag"}

// add adds an object and returns its id in hex.
func (p *packed) add(kind byte, text string) string {
	p.t.Helper()
	p.n++
	size := len(text)
	head := kind<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		p.body.WriteByte(head | 0x80)
		head = byte(size & 0x7f)
	}
	p.body.WriteByte(head)
	z := zlib.NewWriter(&p.body)
	if _, err := z.Write([]byte(text)); err != nil || z.Close() != nil {
		p.t.Fatal(err)
	}
	sum := sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", typeNames[kind], len(text), text))
	return hex.EncodeToString(sum[:])
}

func (p *packed) bytes() []byte {
	b := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), p.n)
	b = append(b, p.body.Bytes()...)
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}

// entry is one entry of a tree.
func entry(mode, name, id string) string {
	b, err := hex.DecodeString(id)
	if err != nil {
		panic(err)
	}
	return mode + " " + name + "\x00" + string(b)
}

const (
	nullID    = "0000000000000000000000000000000000000000"
	elsewhere = "1234567890123456789012345678901234567890" // of a submodule
	someone   = "A <a@example.com> 1700000000 +0000"
)

// flawed makes a pack of one flawed object, and what it needs, and returns the ids of what a ref may name.
type flawed func(p *packed) string

// commitOf is a flaw in the text of a commit, %s is the id of its tree.
func commitOf(text string) flawed {
	return func(p *packed) string {
		return p.add(commitType, strings.Replace(text, "%s", p.add(treeType, entry("100644", "f", p.add(blobType, "f\n"))), 1))
	}
}

func by(author string) flawed {
	return commitOf("tree %s\nauthor " + author + "\ncommitter " + someone + "\n\nm\n")
}

// tagOf is a flaw in the text of a tag, %s is the id of a commit.
func tagOf(text string) flawed {
	return func(p *packed) string {
		return p.add(tagType, strings.Replace(text, "%s", by(someone)(p), 1))
	}
}

// treeOf is a flaw in the tree of a commit. Every entry is made of mode, name, and what stands there: "" for a file, else an id.
func treeOf(entries ...[3]string) flawed {
	return func(p *packed) string {
		file := p.add(blobType, "target\n")
		var tree strings.Builder
		for _, e := range entries {
			if e[2] == "" {
				e[2] = file
			}
			tree.WriteString(entry(e[0], e[1], e[2]))
		}
		id := p.add(treeType, tree.String())
		return p.add(commitType, "tree "+id+"\nauthor "+someone+"\ncommitter "+someone+"\n\nm\n")
	}
}

// fileOf is a flaw in a file.
func fileOf(name, text string) flawed {
	return func(p *packed) string { return treeOf([3]string{"100644", name, p.add(blobType, text)})(p) }
}

func moduleOf(line string) flawed { return fileOf(".gitmodules", "[submodule \"a\"]\n\t"+line+"\n") }

// flaws are objects that the checks of git find, by the check.
var flaws = map[string][]flawed{
	"badDate":                 {by("A <a@example.com> x +0000"), by("A <a@example.com> 17x +0000"), by("A <a@example.com> -17 +0000")},
	"badDateOverflow":         {by("A <a@example.com> 18446744073709551615 +0000"), by("A <a@example.com> 99999999999999999999999 +0000")},
	"badEmail":                {by("A <a<b> 1700000000 +0000"), by("A <a"), by("A <a@example.com <a@example.com> 1700000000 +0000")},
	"badName":                 {by("A> <a@example.com> 1700000000 +0000")},
	"badTimezone":             {by("A <a@example.com> 1700000000 +051800"), by("A <a@example.com> 1700000000 CET"), by("A <a@example.com> 1700000000 ")},
	"missingEmail":            {by("A 1700000000 +0000"), by("")},
	"missingNameBeforeEmail":  {by("<a@example.com> 1700000000 +0000")},
	"missingSpaceBeforeDate":  {by("A <a@example.com>1700000000 +0000"), by("A <a@example.com>")},
	"missingSpaceBeforeEmail": {by("Name<a@b> 1700000000 +0000"), tagOf("object %s\ntype commit\ntag v1\ntagger Name<a@b> 1700000000 +0000\n\nm\n")},
	"zeroPaddedDate":          {by("A <a@example.com> 01700000000 +0000")},

	"missingAuthor":    {commitOf("tree %s\ncommitter " + someone + "\n\nm\n")},
	"missingCommitter": {commitOf("tree %s\nauthor " + someone + "\n\nm\n")},
	"multipleAuthors":  {commitOf("tree %s\nauthor " + someone + "\nauthor B <b@example.com> 1 +0000\ncommitter " + someone + "\n\nm\n")},
	"nulInCommit":      {commitOf("tree %s\nauthor " + someone + "\ncommitter " + someone + "\n\nm\x00n\n")},
	"badParentSha1":    {commitOf("tree %s\nparent x\nauthor " + someone + "\ncommitter " + someone + "\n\nm\n")},
	"badTreeSha1":      {commitOf("tree x\nauthor " + someone + "\ncommitter " + someone + "\n\nm\n")},
	"missingTree":      {commitOf("author " + someone + "\ncommitter " + someone + "\n\nm\n")},
	"nulInHeader":      {by("A\x00 <a@example.com> 1700000000 +0000")},
	"unterminatedHeader": {
		commitOf("tree %s\nauthor " + someone + "\ncommitter " + someone),
	},

	"badTagName":         {tagOf("object %s\ntype commit\ntag a..b\ntagger " + someone + "\n\nm\n")},
	"extraHeaderEntry":   {tagOf("object %s\ntype commit\ntag v1\ntagger " + someone + "\nmore x\n\nm\n")},
	"missingTaggerEntry": {tagOf("object %s\ntype commit\ntag v1\n\nm\n")},
	"badObjectSha1":      {tagOf("object x%s\ntype commit\ntag v1\ntagger " + someone + "\n\nm\n")},
	"badType":            {tagOf("object %s\ntype thing\ntag v1\ntagger " + someone + "\n\nm\n")},
	"missingObject":      {tagOf("of %s\ntype commit\ntag v1\ntagger " + someone + "\n\nm\n")},
	"missingTag":         {tagOf("object %s\ntype commit\ntag v1")},
	"missingTagEntry":    {tagOf("object %s\ntype commit\nname v1\ntagger " + someone + "\n\nm\n")},
	"missingType":        {tagOf("object %s\ntype commit")},
	"missingTypeEntry":   {tagOf("object %s\nkind commit\ntag v1\ntagger " + someone + "\n\nm\n")},

	"badFilemode":          {treeOf([3]string{"100664", "a", ""}), treeOf([3]string{"100600", "a", ""})},
	"zeroPaddedFilemode":   {func(p *packed) string { return treeOf([3]string{"040000", "d", p.add(treeType, "")})(p) }},
	"gitattributesSymlink": {treeOf([3]string{"120000", ".gitattributes", ""})},
	"gitignoreSymlink":     {treeOf([3]string{"120000", ".gitignore", ""})},
	"mailmapSymlink":       {treeOf([3]string{"120000", ".mailmap", ""})},
	"badTree": {
		treeOf([3]string{"100644", "", ""}), // git sees emptyName no sooner
		func(p *packed) string {
			return p.add(commitType, "tree "+p.add(treeType, "100644 a")+"\nauthor "+someone+"\ncommitter "+someone+"\n\nm\n")
		},
		func(p *packed) string {
			return p.add(commitType, "tree "+p.add(treeType, "x a\x00"+strings.Repeat("i", 20))+"\nauthor "+someone+"\ncommitter "+someone+"\n\nm\n")
		},
	},
	"duplicateEntries": {treeOf([3]string{"100644", "a", ""}, [3]string{"100644", "a", ""})},
	"treeNotSorted":    {treeOf([3]string{"100644", "b", ""}, [3]string{"100644", "a", ""})},
	"fullPathname":     {treeOf([3]string{"100644", "a/b", ""}), treeOf([3]string{"100644", "/etc", ""}), treeOf([3]string{"100644", "../x", ""})},
	"hasDot":           {treeOf([3]string{"100644", ".", ""})},
	"hasDotdot":        {treeOf([3]string{"100644", "..", ""})},
	"hasDotgit": {
		treeOf([3]string{"100644", ".git", ""}), treeOf([3]string{"100644", ".GIT", ""}), treeOf([3]string{"100644", "git~1", ""}),
		treeOf([3]string{"100644", ".g\u200cit", ""}), treeOf([3]string{"100644", ".git ", ""}), treeOf([3]string{"100644", "x\\.git", ""}),
		treeOf([3]string{"100644", ".git::$INDEX_ALLOCATION", ""}), treeOf([3]string{"160000", ".git", elsewhere}),
		treeOf([3]string{"120000", ".git", ""}),
	},
	"gitmodulesSymlink": {
		treeOf([3]string{"120000", ".gitmodules", ""}), treeOf([3]string{"120000", ".GitModules", ""}), treeOf([3]string{"120000", "gitmod~1", ""}),
		treeOf([3]string{"120000", ".gitmodules\u200c", ""}),
	},
	"largePathname": {treeOf([3]string{"100644", strings.Repeat("x", 5000), ""})},
	"nullSha1": {
		treeOf([3]string{"100644", "a", nullID}), treeOf([3]string{"40000", "a", nullID}), treeOf([3]string{"160000", "a", nullID}),
		commitOf("tree " + nullID + "\nauthor " + someone + "\ncommitter " + someone + "\n\nm\n"),
		commitOf("tree %s\nparent " + nullID + "\nauthor " + someone + "\ncommitter " + someone + "\n\nm\n"),
		tagOf("object " + nullID + "\ntype commit\ntag v1\ntagger " + someone + "\n\nm\n"),
	},

	"gitattributesBlob":       {func(p *packed) string { return treeOf([3]string{"40000", ".gitattributes", p.add(treeType, "")})(p) }},
	"gitattributesMissing":    {treeOf([3]string{"160000", ".gitattributes", elsewhere})},
	"gitmodulesParse":         {fileOf(".gitmodules", "[submodule \"a\n")},
	"gitattributesLineLength": {fileOf(".gitattributes", strings.Repeat("a", 3000)+"\n")},
	"gitmodulesBlob":          {func(p *packed) string { return treeOf([3]string{"40000", ".gitmodules", p.add(treeType, "")})(p) }},
	"gitmodulesLarge":         {fileOf(".gitmodules", strings.Repeat("#\n", 10<<20))},
	"gitattributesLarge":      {fileOf(".gitattributes", strings.Repeat("#\n", 10<<20))},
	"gitmodulesMissing":       {treeOf([3]string{"160000", ".gitmodules", elsewhere})},
	"gitmodulesName":          {fileOf(".gitmodules", "[submodule \"../../x\"]\n\tpath = x\n")},
	"gitmodulesPath":          {moduleOf("path = -u./x")},
	"gitmodulesUpdate":        {moduleOf("update = !touch x")},
	"gitmodulesUrl":           {moduleOf("url = -u./x"), moduleOf("url = https://example.com?%0apassword=x"), moduleOf("url = ../../:x")},
}

// unmade are the checks that no object of a pack can fail, because another one, or git's parser, comes first.
var unmade = map[string]bool{"badGpgsig": true, "badHeaderContinuation": true, "emptyName": true, "unknownType": true}

// parsed are the checks of what git's parser may refuse before.
var parsed = map[string]bool{
	"badObjectSha1": true, "badParentSha1": true, "badTreeSha1": true, "badType": true, "missingObject": true, "missingTag": true,
	"missingTagEntry": true, "missingTree": true, "missingType": true, "missingTypeEntry": true,
}

// What a check finds is taken or refused as the table says, as pushed by anybody; and what is taken can be fetched.
func TestFlawsAreTakenOrRefused(t *testing.T) {
	for _, check := range gitproc.ObjectChecks() {
		if len(flaws[check.ID]) == 0 && !unmade[check.ID] {
			t.Errorf("%s: no object that has it", check.ID)
		}
		for i, flaw := range flaws[check.ID] {
			t.Run(fmt.Sprintf("%s/%d", check.ID, i), func(t *testing.T) {
				if check.Refused {
					isRefused(t, check.ID, flaw)
				} else {
					isTaken(t, flaw)
				}
			})
		}
	}
}

func isTaken(t *testing.T, flaw flawed) {
	t.Helper()
	d, dir := disk(t)
	p := &packed{t: t}
	tip := parse(t, flaw(p))
	push(t, d, some(1), p.bytes(), gitrepo.Proving{Tips: ids{tip}})
	wantMissing(t, d, some(1), ids{tip}, 0)
	refs := refsOf("", "refs/tags/x", tip)
	if err := d.Project(some(1), 0, refs); err != nil {
		t.Fatal(err)
	}
	if found, err := d.Check(t.Context(), some(1), refs); err != nil || len(found.All()) > 0 {
		t.Errorf("%+v (%v)", found, err)
	}
	newClone(t).git(nil, "-c", "safe.directory=*", "fetch", "-q", pathOf(dir, some(1)), "refs/tags/x:refs/tags/x")
}

func isRefused(t *testing.T, id string, flaw flawed) {
	t.Helper()
	d, dir := disk(t)
	p := &packed{t: t}
	flaw(p)
	_, err := begin(t, d, gitrepo.ID{}).Receive(t.Context(), bytes.NewReader(p.bytes()), gitrepo.Receiving{})
	var refused *gitrepo.PackError
	switch {
	case id == "largePathname" && err == nil:
		t.Skip("this git does not know the check") // before 2.44
	case !errors.As(err, &refused):
		t.Fatal(err)
	}
	if refused.Check != id && (refused.Check != gitrepo.Unreadable || !parsed[id]) {
		t.Errorf("%q: %s", refused.Check, refused.Text)
	}
	if strings.Contains(refused.Text, dir) || strings.Contains(refused.Text, "damaged") {
		t.Error(refused.Text)
	}
}
