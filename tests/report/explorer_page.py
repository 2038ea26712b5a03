"""An explorer in a window, with what a reader does to it."""

import time

import numpy as np

from tests.report.browser import Page

FRAME = "requestAnimationFrame(() => requestAnimationFrame(arguments[arguments.length - 1]))"


class ExplorerPage(Page):
    """An explorer in a window."""

    def open(self, path, width=1440, dark=False):
        super().open(path, width, dark)
        self.until(lambda: self.texts(".what-if h2"))
        return self

    def go(self, row):
        """Open a row, given by its position."""
        self.click("Choose another row")
        self.run("document.querySelectorAll('#table tbody tr')[arguments[0]].click()", row)
        self.frame()
        return row

    def until(self, holds, seconds=10):
        """Wait until something holds, and return it."""
        for _ in range(int(seconds / 0.05)):
            found = holds()
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError("it did not come to hold")

    def frame(self):
        """Wait for the next picture."""
        self.driver.execute_async_script(FRAME)

    def card(self, label):
        """Return the control of a feature."""
        return self.run(
            "[...document.querySelectorAll('.control-card')]"
            ".find((one) => one.querySelector('.name').textContent === arguments[0])",
            label,
        )

    def within(self, label, selector):
        return self.card(label).find_element("css selector", selector)

    def slide(self, label, number):
        """Drag a slider to a number."""
        self.run(
            "(() => { arguments[0].value = arguments[1]; for (const name of ['input', 'change'])"
            "arguments[0].dispatchEvent(new Event(name, {bubbles: true})); })()",
            self.within(label, "input[type=range]"),
            number,
        )
        self.frame()

    def pick(self, label, text):
        from selenium.webdriver.support.ui import Select

        Select(self.within(label, "select")).select_by_visible_text(text)
        self.frame()

    def click(self, text, within="body"):
        """Press the button whose text starts so."""
        button = self.run(
            "[...document.querySelectorAll(`${arguments[1]} button`)]"
            ".find((one) => one.textContent.startsWith(arguments[0]))",
            text,
            within,
        )
        button.click()
        self.frame()

    def value(self, label):
        """Return what a feature's number box or list shows."""
        return self.run("arguments[0].querySelector('.box, select').value", self.card(label))

    @property
    def cells(self):
        """What is said first, of the original row, and by the other of model and surrogate; as shown."""
        cells = self.driver.find_elements("css selector", ".answer-cell")
        return [cell.text.split("\n") for cell in cells if cell.is_displayed()]

    @property
    def model_says(self):
        """What the model itself says to the row, line by line."""
        badges = ("Nothing unusual", "Be careful here", "Too close to call")
        return [text for text in self.find(".answer-cell.by-model").text.split("\n") if text not in badges]

    @property
    def found(self):
        """The changes that flip the answer, as texts."""
        return self.texts(".found > li .found-changes")


def answers_of(explainer, frame):
    """Return the twin's answers to the rows of a frame, (n, c)."""
    fitted = explainer.fitted_
    rows = fitted.as_frame(frame)
    return fitted.outputs.answers_of(fitted.twin.scores(fitted.twin.read(rows, fitted.encode(rows))))


def share(probability):
    """Return a probability as the page writes it.

    >>> share(0.734), share(0.9951), share(0.05)
    ('73 %', '99.5 %', '5 %')
    """
    number = 100 * probability
    if number < 10 or 99 <= number < 100:
        return f"{min(np.floor(10 * number + 0.5) / 10, 99.9):g} %"
    return f"{np.floor(number + 0.5):.0f} %"
