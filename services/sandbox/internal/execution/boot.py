# Runs main.py as "python3 main.py" would, without the time that the module site
# takes: packages of the system are found, and after them modules of the
# workspace.


def start():
    import builtins
    import sys
    from _sitebuiltins import Quitter

    version = "python%d.%d" % sys.version_info[:2]
    sys.path += [
        "/usr/local/lib/" + version + "/dist-packages",
        "/usr/local/lib/" + version + "/site-packages",
        "/usr/lib/python3/dist-packages",
        "/usr/lib/" + version + "/site-packages",
        "/workspace",
    ]
    builtins.exit = Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.quit = Quitter("quit", "Ctrl-D (i.e. EOF)")
    # What a program that is stopped has printed is not lost.
    sys.stdout.reconfigure(line_buffering=True)

    boot = __file__

    def show(kind, error, trace):
        while trace is not None and trace.tb_frame.f_code.co_filename == boot:
            trace = trace.tb_next
        sys.__excepthook__(kind, error.with_traceback(trace), trace)

    sys.excepthook = show
    main = boot[: -len("boot.py")] + "main.py"
    with open(main, "rb") as file:
        source = file.read()
    sys.argv = [main]
    globals()["__file__"] = main
    return compile(source, main, "exec", dont_inherit=True)


exec(globals().pop("start")())
