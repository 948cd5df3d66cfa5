"""Run folders of the official MNIST-PRO runner."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="mnistpro",
    description="run folders of the official MNIST-PRO runner, all layouts",
    version=VERSION,
    detect=detect,
    read=read,
)
