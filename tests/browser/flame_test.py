#!/usr/bin/env python3
"""Uses a flame graph as a reader would: real mouse and key events in headless Chromium.

    TEPHRA=build/release/tephra tests/browser/flame_test.py [folder for screenshots]

Exit status 77: skipped, since Chromium is not installed.
"""

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

from chromium import CONTROL, SHIFT, SKIPPED, Chromium, find_chromium

HERE = os.path.dirname(os.path.abspath(__file__))
checks = 0


def check(actual, expected, what):
    global checks
    checks += 1
    if actual != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {actual!r}")


def draw(tephra, folder, name, source, *options):
    path = os.path.join(folder, name + ".svg")
    subprocess.run([tephra, "flame", source, "-o", path, "-q", *options], check=True)
    return path


class Flame:
    """The picture as the page shows it."""

    def __init__(self, page, path):
        self.page = page
        page.open("file://" + path)

    def center(self, name):
        """Where the first visible frame of that name is on the screen."""
        box = self.page.evaluate(
            "(name => { for (const g of document.querySelectorAll('.f:not(.hidden)')) {"
            " if (g.frame.name === name) { const b = g.querySelector('rect').getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; } } return null; })(%s)" % repr(name))
        if box is None:
            raise AssertionError(f"no visible frame {name!r}")
        return box

    def click(self, name):
        self.page.click(*self.center(name))

    def click_button(self, name):
        box = self.page.evaluate("(b => [b.x + b.width / 2, b.y + b.height / 2])"
                                 f"(document.getElementById('{name}').getBoundingClientRect())")
        self.page.click(*box)

    def visible(self):
        return sorted(self.page.evaluate(
            "[...document.querySelectorAll('.f:not(.hidden)')].map(g => g.frame.name)"))

    def hits(self):
        return sorted(self.page.evaluate("[...document.querySelectorAll('.f.hit')].map(g => g.frame.name)"))

    def width(self, name):
        return self.page.evaluate(
            "[...document.querySelectorAll('.f:not(.hidden)')].find(g => g.frame.name === %s)"
            ".querySelector('rect').getBoundingClientRect().width" % repr(name))

    def text(self, element):
        return self.page.evaluate(f"document.getElementById('{element}').textContent")

    def hidden(self, element):
        return self.page.evaluate(f"document.getElementById('{element}').classList.contains('hidden')")

    def focused(self):
        return self.page.evaluate("document.activeElement && document.activeElement.frame"
                                  " ? document.activeElement.frame.name : null")

    def search(self, text):
        self.page.press("f", CONTROL)
        self.page.type(text)
        self.page.press("Enter")


SORT = "std::sort<int*, Less<int> >"
BELOW_BETA = ["all", "app", "beta", "main", "read", SORT]


def test_zoom(flame):
    everything = flame.visible()
    check(len(everything), 15, "frames drawn")
    full = flame.width("all")
    check(flame.hidden("reset"), True, "reset button before zoom")
    flame.click("beta")
    check(flame.visible(), BELOW_BETA, "frames after a click")
    check(abs(flame.width("beta") - full) < 1, True, "the zoomed frame spans the picture")
    check(abs(flame.width("main") - full) < 1, True, "its callers do, too")
    check(abs(flame.width("read") / full - 5 / 30) < 0.01, True, "what it called is to scale")
    check(flame.hidden("reset"), False, "reset button after zoom")
    flame.click("main")
    check(len(flame.visible()), 11, "a click on a caller zooms out to it")
    flame.click_button("reset")
    check(flame.visible(), everything, "frames after reset")
    check(flame.hidden("reset"), True, "reset button after reset")


def test_search(flame):
    flame.click_button("search")
    flame.page.type("read")
    flame.page.press("Enter")
    check(flame.hits(), ["read", "read", "vfs_read"], "matches")
    check(flame.text("matched"), "Matched: 45.00% in 3 frames", "matched share")
    flame.page.press("i", CONTROL)
    check(flame.hits(), ["READ_all", "read", "read", "vfs_read"], "matches without case")
    check(flame.text("matched"), "Matched: 55.00% in 4 frames", "matched share without case")
    flame.click("alpha")
    check(flame.text("matched"), "Matched: 55.00% in 4 frames, 75.00% of this view", "matched share of a view")
    flame.page.press("Escape")
    check(len(flame.visible()), 15, "Escape resets the zoom first")
    check(len(flame.hits()), 4, "and keeps the search")
    flame.page.press("Escape")
    check(flame.hits(), [], "then ends the search")
    check(flame.text("matched"), "", "matched share when nothing is searched")
    flame.page.press("i", CONTROL)
    flame.search("^(main|alpha)$")
    check(flame.text("matched"), "Matched: 90.00% in 2 frames", "frames above a match are counted once")
    flame.search("(")
    check(flame.text("matched"), "not a regular expression", "a bad pattern says so")
    flame.page.press("Escape")
    flame.page.press("/")
    flame.page.type("std::sort<")
    flame.page.press("Enter")
    check(flame.hits(), [SORT], "search looks at whole names")


def test_keyboard(flame):
    press = flame.page.press
    press("Tab")
    check(flame.focused(), "all", "Tab goes to the root")
    press("ArrowUp")
    check(flame.focused(), "app", "up goes to the widest callee")
    press("ArrowRight")
    check(flame.focused(), "worker", "right goes along the row")
    press("ArrowLeft")
    press("ArrowUp")
    press("ArrowUp")
    check(flame.focused(), "alpha", "up again")
    press("Tab")
    check(flame.focused(), "beta", "Tab goes on to the next frame")
    press("Enter")
    check(flame.visible(), BELOW_BETA, "Enter zooms")
    check(flame.focused(), "beta", "and keeps the focus")
    press("ArrowDown")
    check(flame.focused(), "main", "down goes to the caller")
    press("ArrowUp")
    check(flame.focused(), "beta", "up stays within the zoom")
    press("Tab", SHIFT)
    check(flame.focused(), "main", "Shift-Tab goes back over hidden frames")
    press("Escape")
    check(len(flame.visible()), 15, "Escape resets")


def test_details(flame):
    flame.page.move(*flame.center(SORT))
    check(flame.hidden("tip"), False, "the tooltip shows on a frame")
    check(flame.text("details"), f"Function: {SORT}   30 samples, 30.00% of all (self 25.00%)", "details line")
    check(flame.text("tip").startswith(SORT + "30 samples, 30.00% of all"), True, "tooltip has the whole name")
    flame.page.move(3, 3)
    check(flame.hidden("tip"), True, "and goes with the mouse")
    shown = flame.page.evaluate("[...document.querySelectorAll('.f text')].map(t => t.textContent)")
    check("std::sort<\u2026>" in shown, True, "the picture has the short name")


def test_hostile_names(flame):
    names = flame.visible()
    check("<script>window.hacked = 1</script>" in names, True, "a hostile name is text")
    check("quote \" ' & ]]>" in names, True, "quotes and brackets are text")
    check(flame.page.evaluate("window.hacked === undefined"), True, "no name runs as a script")
    flame.page.move(*flame.center("<script>window.hacked = 1</script>"))
    check(flame.page.evaluate("window.hacked === undefined"), True, "nor in the details")


def test_link(flame, path):
    flame.click("beta")
    flame.search("read")
    link = flame.page.evaluate("location.hash")
    again = Flame(flame.page, path + link)
    check(again.visible(), BELOW_BETA, "a link keeps the zoom")
    check(again.text("matched").startswith("Matched: 45.00% in 3 frames"), True, "and the search")


def test_inverted(flame):
    flame.page.press("Tab")
    flame.page.press("ArrowDown")
    check(flame.focused(), "app", "in an icicle graph callees are below")


def test_sandwich(flame):
    check(flame.visible(), sorted(["read", "alpha", "main", "app", SORT, "beta", "main", "app"]), "callers of read")
    full = flame.width("read")
    check(abs(flame.width("alpha") / full - 20 / 25) < 0.01, True, "a caller is as wide as what it calls")
    check(flame.center("app")[1] < flame.center("alpha")[1] < flame.center("read")[1], True, "callers are above")
    flame.click("beta")
    check(flame.visible(), sorted(["read", SORT, "beta", "main", "app"]), "a click on a caller shows its callers")
    check(abs(flame.width(SORT) - full) < 1 and abs(flame.width("app") - full) < 1, True, "across the picture")
    flame.page.press("Escape")
    check(len(flame.visible()), 8, "Escape resets")
    flame.page.press("Tab")
    check(flame.focused(), "read", "Tab goes to the function")
    for key, name in (("ArrowUp", "alpha"), ("ArrowRight", SORT), ("ArrowUp", "beta"), ("ArrowDown", SORT),
                      ("ArrowDown", "read"), ("ArrowDown", "read")):
        flame.page.press(key)
        check(flame.focused(), name, f"{key} in a sandwich")
    flame.search("beta")
    check(flame.text("matched"), "Matched: 20.00% in 1 frame", "search in a sandwich")


def test_both_halves(flame):
    check(flame.center("app")[1] < flame.center("main")[1] < flame.center("beta")[1], True, "callees are below")
    full = flame.width("main")
    flame.click("beta")
    check(abs(flame.width("beta") - full) < 1, True, "a click on a callee zooms into it")
    check(abs(flame.width("app") - full) < 1, True, "and leaves the callers alone")
    check("alpha" in flame.visible(), False, "other callees are gone")


def write_chart(path):
    """Two threads: one runs main, which calls a, b, a; the other is idle for most of the time."""
    with open(path, "w") as file:
        for thread, times in ((101, range(0, 60)), (102, [10, 11, 50, 51])):
            for time_ms in times:
                leaf = "<script>b</script>" if 20 <= time_ms < 40 else "a"
                file.write(f"app   100/{thread} [000] {5 + time_ms / 1000:.6f}: 1000000 cpu-clock: \n"
                           f"\t 401000 {leaf} (/opt/app)\n\t 402000 main (/opt/app)\n\n")


def test_chart(flame):
    check(flame.visible(), sorted(["all", "app-100/101", "app-100/102", "main", "a", "<script>b</script>", "a", "main",
                                   "a", "main", "a"]), "a lane a thread, with gaps")
    ticks = "[...document.querySelectorAll('#axis text')].map(t => t.textContent)"
    check(flame.page.evaluate(ticks)[:3], ["0 ms", "10 ms", "20 ms"], "times")
    full = flame.width("all")
    check(abs(flame.width("a") / full - 20 / 60) < 0.01, True, "width is time")
    flame.click("<script>b</script>")
    check(flame.visible(), sorted(["all", "app-100/101", "main", "<script>b</script>", "app-100/102"]),
          "a click shows the same time of all lanes")
    check(abs(flame.width("<script>b</script>") - full) < 1, True, "the frame's time spans the picture")
    check(flame.page.evaluate(ticks)[0], "20 ms", "times of what is shown")
    flame.click_button("reset")
    check(len(flame.visible()), 11, "reset")
    flame.page.press("Tab")
    for key, name in (("ArrowDown", "app-100/101"), ("ArrowDown", "main"), ("ArrowDown", "a"),
                      ("ArrowRight", "<script>b</script>"), ("ArrowDown", "app-100/102"), ("ArrowUp", "all")):
        flame.page.press(key)
        check(flame.focused(), name, f"{key} in a chart")
    flame.search("script")
    check(flame.hits(), ["<script>b</script>"], "search in a chart")
    check(flame.text("matched").startswith("Matched: 33.3"), True, "matched time")


def test_width(page, path, fluid_path):
    Flame(page, path)
    check(page.evaluate("document.documentElement.getBoundingClientRect().width"), 900, "--width is kept")
    Flame(page, fluid_path)
    check(page.evaluate("document.documentElement.getBoundingClientRect().width"), 1220, "else the window's width")


def test_many_frames(page, tephra, folder):
    source = os.path.join(folder, "many.folded")
    with open(source, "w") as file:
        for a in range(20):
            for b in range(25):
                stack = ";".join(f"function_{a}_{b}_{c}" for c in range(40))
                file.write(f"app;main;part_{a};{stack} {1 + (a * b) % 7}\n")
    flame = Flame(page, draw(tephra, folder, "many", source))
    check(page.evaluate("document.querySelectorAll('.f').length"), 20023, "frames of a big picture")
    spent = page.evaluate(
        "(async () => { const begin = performance.now();"
        " [...document.querySelectorAll('.f')].find(g => g.frame.name === 'part_7')"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}));"
        " await new Promise(done => requestAnimationFrame(() => setTimeout(done)));"
        " return performance.now() - begin; })()")
    print(f"zoom into 20,000 frames: {spent:.0f} ms")
    check(len(flame.visible()), 1004, "frames after zooming into a big picture")
    check(spent < 3000, True, f"zoom is prompt ({spent:.0f} ms)")
    flame.search("_3_")
    check(flame.text("matched").startswith("Matched: "), True, "search in a big picture")


def test_without_scripts(page, path):
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.open("file://" + path)
    page.call("Emulation.setScriptExecutionDisabled", value=False)
    tree = xml.etree.ElementTree.parse(path)
    name = "{http://www.w3.org/2000/svg}"
    frames = [g for g in tree.iter(name + "g") if g.get("class") == "f"]
    check(len(frames), 15, "frames in the file")
    check(all(g.find(name + "title").text for g in frames), True, "each has its tooltip")
    check(sum(1 for g in frames if g.find(name + "text") is not None) >= 10, True, "wide frames have their text")


def run(tephra, folder, shots):
    source = os.path.join(HERE, "flame.folded")
    path = draw(tephra, folder, "flame", source)
    inverted = draw(tephra, folder, "inverted", source, "--inverted")
    narrow = draw(tephra, folder, "narrow", source, "--width", "900")
    with Chromium() as page:
        for test in (test_zoom, test_search, test_keyboard, test_details, test_hostile_names):
            test(Flame(page, path))
            if shots:
                page.screenshot(os.path.join(shots, test.__name__ + ".png"))
        test_link(Flame(page, path), path)
        test_inverted(Flame(page, inverted))
        test_sandwich(Flame(page, draw(tephra, folder, "sandwich", source, "--sandwich", "read")))
        test_both_halves(Flame(page, draw(tephra, folder, "halves", source, "--sandwich", "main")))
        timed = os.path.join(folder, "timed.txt")
        write_chart(timed)
        test_chart(Flame(page, draw(tephra, folder, "chart", timed, "--flamechart")))
        if shots:
            page.screenshot(os.path.join(shots, "test_chart.png"))
        test_width(page, narrow, path)
        test_without_scripts(page, path)
        test_many_frames(page, tephra, folder)
        check(page.errors, [], "errors in the page's scripts")


def main():
    tephra = os.environ.get("TEPHRA")
    if not tephra:
        sys.exit(__doc__)
    if not find_chromium():
        print("skipped: chromium is not installed")
        sys.exit(SKIPPED)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tephra-flame-") as folder:
        run(os.path.abspath(tephra), folder, sys.argv[1] if len(sys.argv) > 1 else None)
    print(f"flame graph in the browser: {checks} checks passed in {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
