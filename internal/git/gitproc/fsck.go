package gitproc

import "strings"

// ObjectCheck is what becomes of one of git's checks of objects (git-fsck(1)) when a pack comes in.
type ObjectCheck struct {
	ID      string // as git writes it
	Of      string // what has the flaw: "identity" (a line of a commit or tag that says who and when), "commit", "tag", "tree", "file"
	Refused bool
	Why     string
}

const (
	whoAndWhen = "the text says who and when; git reads on without it, and histories of real projects have it"
	unreadable = "no git reads such an object, so nobody could fetch it or what is built on it"
	outside    = "a client would write outside of its worktree, or into its .git"
	differs    = "programs disagree about what is in such a tree: what one shows is not what another checks out"
	submodule  = "a client that updates submodules would run a program, or write where it should not"
	overflows  = "git before 2.39.1 writes beyond its memory when it reads such attributes (CVE-2022-23521)"
	followed   = "git before 2.32 may read another file in its place, and nothing else; real trees have it"
	allowed    = "git itself takes it, with a warning"
)

// ObjectChecks are all checks of objects that releases of git from 2.39.5 to 2.55 know, each with its decision. A check is refused if what
// it finds endangers who fetches it, or if git cannot read the object anyway. git ends where it is told of a check that it does not know, so
// graspd tells it only of checks that the oldest release knows; a check that is newer than this table stays as git has it.
func ObjectChecks() []ObjectCheck {
	return []ObjectCheck{
		{"badDate", "identity", false, whoAndWhen},
		{"badDateOverflow", "identity", false, whoAndWhen},
		{"badEmail", "identity", false, whoAndWhen},
		{"badName", "identity", false, whoAndWhen},
		{"badTimezone", "identity", false, whoAndWhen},
		{"missingEmail", "identity", false, whoAndWhen},
		{"missingNameBeforeEmail", "identity", false, whoAndWhen},
		{"missingSpaceBeforeDate", "identity", false, whoAndWhen},
		{"missingSpaceBeforeEmail", "identity", false, whoAndWhen},
		{"zeroPaddedDate", "identity", false, whoAndWhen},

		{"missingAuthor", "commit", false, whoAndWhen},
		{"missingCommitter", "commit", false, whoAndWhen},
		{"multipleAuthors", "commit", false, whoAndWhen},
		{"nulInCommit", "commit", false, "git shows the message up to there; it is text for people, and old conversions have it"},
		{"badParentSha1", "commit", true, unreadable},
		{"badTreeSha1", "commit", true, unreadable},
		{"missingTree", "commit", true, unreadable},
		{"nulInHeader", "commit", true, "git lets nobody take it: its own checks read beyond their memory there"},
		{"unterminatedHeader", "commit", true, "git lets nobody take it: its own checks read beyond their memory there"},

		{"badTagName", "tag", false, "the name stands in no path; tags of old projects have it"},
		{"extraHeaderEntry", "tag", false, "git skips what it does not know"},
		{"missingTaggerEntry", "tag", false, "tags of before 2005 have none"},
		{"badGpgsig", "tag", true, "git checks it only behind unterminatedHeader, which finds it first"},
		{"badHeaderContinuation", "tag", true, "git checks it only behind unterminatedHeader, which finds it first"},
		{"badObjectSha1", "tag", true, unreadable},
		{"badType", "tag", true, unreadable},
		{"missingObject", "tag", true, unreadable},
		{"missingTag", "tag", true, unreadable},
		{"missingTagEntry", "tag", true, unreadable},
		{"missingType", "tag", true, unreadable},
		{"missingTypeEntry", "tag", true, unreadable},

		{"badFilemode", "tree", false, allowed},
		{"zeroPaddedFilemode", "tree", false, "the mode is the same; trees that web sites made have it"},
		{"gitattributesSymlink", "tree", false, followed},
		{"gitignoreSymlink", "tree", false, followed},
		{"mailmapSymlink", "tree", false, followed},
		{"badTree", "tree", true, unreadable},
		{"duplicateEntries", "tree", true, differs},
		{"treeNotSorted", "tree", true, differs},
		{"emptyName", "tree", true, outside},
		{"fullPathname", "tree", true, outside},
		{"hasDot", "tree", true, outside},
		{"hasDotdot", "tree", true, outside},
		{"hasDotgit", "tree", true, outside},
		{"gitmodulesSymlink", "tree", true, "a client would read its submodules from a file that nobody checked (CVE-2018-11235)"},
		{"largePathname", "tree", true, "no file system takes a name of more than 4,096 bytes, and programs that read one write beyond their memory"},
		{"nullSha1", "tree", true, "the id stands for nothing, so the tree is never complete"},

		{"gitattributesBlob", "file", false, "a directory of that name has no attributes"},
		{"gitattributesMissing", "file", false, "a submodule of that name has no attributes"},
		{"gitmodulesParse", "file", false, allowed + ": no client reads a submodule from it either"},
		{"gitattributesLarge", "file", true, overflows},
		{"gitattributesLineLength", "file", true, overflows},
		{"gitmodulesBlob", "file", true, "what clients would read there is nothing that was checked"},
		{"gitmodulesLarge", "file", true, "what clients would read there is nothing that was checked"},
		{"gitmodulesMissing", "file", true, "what clients would read there is nothing that was checked"},
		{"gitmodulesName", "file", true, submodule + " (CVE-2018-11235)"},
		{"gitmodulesPath", "file", true, submodule + " (CVE-2018-17456)"},
		{"gitmodulesUpdate", "file", true, submodule + " (CVE-2019-19604)"},
		{"gitmodulesUrl", "file", true, submodule + ", or give its passwords to others (CVE-2020-5260, CVE-2020-11008)"},
		{"unknownType", "file", true, unreadable},
	}
}

// strict has git check objects as ObjectChecks says.
var strict = func() word {
	var taken []string
	for _, c := range ObjectChecks() {
		if !c.Refused {
			taken = append(taken, c.ID+"=ignore")
		}
	}
	return word("--strict=" + strings.Join(taken, ","))
}()
