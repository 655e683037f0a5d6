package highlight

import "github.com/alecthomas/chroma/v2"

// Known returns the lexers that are used.
func Known() []chroma.Lexer { return known.Lexers }
