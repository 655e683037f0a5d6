"""A client of dulwich: dulwich_client.py VERB URL DIRECTORY [ARGUMENT], see clients_test.go."""

import sys

from dulwich import porcelain
from dulwich.client import get_transport_and_path
from dulwich.repo import Repo


def main(verb, url, directory, *arguments):
    if verb == "clone":
        porcelain.clone(url, directory)
    elif verb == "shallow":
        porcelain.clone(url, directory, depth=1)
    elif verb == "filter":
        porcelain.clone(url, directory, checkout=False, filter_spec="blob:none")
    elif verb == "fetch":
        porcelain.fetch(directory, "origin")
    elif verb == "deepen":
        porcelain.fetch(directory, "origin", depth=0x7FFFFFFF)
    elif verb == "id":
        client, path = get_transport_and_path(url)
        client.fetch(path, Repo(directory), determine_wants=lambda refs, depth=None: [arguments[0].encode()])
    elif verb == "push":
        result = porcelain.push(directory, url, list(arguments))
        refused = {ref: why for ref, why in (result.ref_status or {}).items() if why is not None}
        for ref, why in refused.items():
            print(f"{ref.decode()}: {why}", file=sys.stderr)
        if refused:
            sys.exit(1)
    else:
        sys.exit("dulwich has no way to do this")


main(*sys.argv[1:])
