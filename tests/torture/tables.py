"""Tables and images that are hostile, for ``ybar fit``."""

import bz2
import gzip
import io
import lzma
import os
import struct
import zipfile
import zlib

import child
import numpy as np

TRIED = 200
MOST_BYTES = 2**28  # that a file may unpack to here; by default a share of the machine's memory
GOOD = "a,b,not\n" + "".join(f"{i % 7},{i % 5},{'xyz'[i % 3]}\n" for i in range(300))


def prepare(folder):
    """Write the hostile files, each kind of bomb once; to make them needs memory, too."""
    for number in range(TRIED):
        kind = number % len(ATTACKS)
        place = folder / f"attack{number}"
        place.mkdir()
        if number > kind and ATTACKS[kind].__name__.endswith("_bomb"):
            source = (folder / f"attack{kind}" / "source").read_bytes()
        else:
            source = os.fsencode(ATTACKS[kind](place, np.random.default_rng([6, number])))
        (place / "source").write_bytes(source)


def hostile(folder, number):
    os.environ["YBAR_MAX_BYTES"] = str(MOST_BYTES)
    place = folder / f"attack{number}"
    source = os.fsdecode((place / "source").read_bytes())
    child.watch()
    code, _, errors = child.command(
        place, "fit", source, "--label", "not", "--model", place / "m.ybar"
    )
    kind, note = child.judged(code, errors)
    return kind, f"{ATTACKS[number % len(ATTACKS)].__name__}: {note}"


def _write(place, name, content):
    path = place / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# Tables


def gzip_bomb(place, rng):
    return _write(place, "x.csv.gz", gzip.compress(b"a,b,not\n" + b"1,2,x\n" * 10**8, 9))


def bzip2_bomb(place, rng):
    return _write(place, "x.csv.bz2", bz2.compress(b"a,b,not\n" + b"1,2,x\n" * 3 * 10**7))


def xz_bomb(place, rng):
    return _write(place, "x.csv.xz", lzma.compress(b"a,b,not\n" + b"1,2,x\n" * 3 * 10**7))


def parquet_bomb(place, rng):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = place / "x.parquet"
    values = pa.DictionaryArray.from_arrays(np.zeros(10**7, np.int32), ["x" * 40])
    with pq.ParquetWriter(path, pa.schema([("not", values.type)])) as writer:
        for _ in range(5):
            writer.write_table(pa.table({"not": values}))
    return path


def npz_bomb(place, rng):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (25 * 10**6, 1)}
    )
    with zipfile.ZipFile(place / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("X", "a", "b", "c", "not"):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(header.getvalue())
                for _ in range(200):
                    member.write(bytes(10**6))
    return place / "x.npz"


def npz_objects(place, rng):
    np.savez(place / "x.npz", X=np.array([{}] * 5, object), allow_pickle=True)
    return place / "x.npz"


def npz_records(place, rng):
    records = np.zeros(30, [("a", "f8"), ("b", "i4", 3)])
    np.savez(place / "x.npz", X=records, **{"not": np.arange(30) % 3})
    return place / "x.npz"


def npz_no_bytes(place, rng):
    """Declare items that take no bytes, or an axis beside one of length 0."""
    descr, shape = (("|S0", (10**12,)), ("<f8", (0, 10**12)))[rng.integers(2)]
    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        array, {"descr": descr, "fortran_order": False, "shape": shape}
    )
    with zipfile.ZipFile(place / "x.npz", "w") as archive:
        for name in ("X", "not"):
            archive.writestr(f"{name}.npy", array.getvalue())
    return place / "x.npz"


def damaged_table(place, rng):
    content = bytearray(GOOD.encode())
    for where in rng.integers(0, len(content), 20):
        content[where] = rng.integers(256)
    return _write(place, "x.csv", bytes(content))


def damaged_gzip(place, rng):
    content = bytearray(gzip.compress(GOOD.encode()))
    content[rng.integers(len(content))] ^= 255
    return _write(place, "x.csv.gz", bytes(content))


def random_bytes(place, rng):
    ending = rng.choice(["csv", "parquet", "npz", "csv.gz", "csv.xz", "csv.bz2", "tsv"])
    return _write(place, f"x.{ending}", rng.bytes(5000))


def nested_parquet(place, rng):
    import pyarrow as pa
    import pyarrow.parquet as pq

    label = [{"k": "x"}, {"k": "y"}, {"k": "z"}] * 100
    feature = [[1.0, 2.0]] * 300
    pq.write_table(pa.table({"a": feature, "not": label}), place / "x.parquet")
    return place / "x.parquet"


def late_nulls(place, rng):
    return _write(place, "x.csv", GOOD * 40 + "1,2,\0\0\n")


def many_classes(place, rng):
    return _write(place, "x.csv", "a,not\n" + "".join(f"{i},c{i}\n" for i in range(5000)))


def many_columns(place, rng):
    names = ",".join(f"c{i}" for i in range(50_000))
    return _write(place, "x.csv", f"{names},not\n" + f"{'1,' * 50_000}x\n" * 3)


def long_cell(place, rng):
    return _write(place, "x.csv", "a,b,not\n1," + "9" * 10**7 + ",x\n")


def quotes(place, rng):
    return _write(place, "x.csv", 'a,b,not\n1,2,"' + "x\n" * 10**5)


def formulas(place, rng):
    return _write(place, "x.csv", GOOD.replace("x", "=cmd|' /C calc'!A0"))


def binary_name(place, rng):
    path = bytes(place / "bad-") + b"\xff.csv"
    with open(path, "wb") as file:
        file.write(GOOD.encode())
    return os.fsdecode(path)


# Images


def _images(place, content, name="x.png"):
    """Write a folder with good images of two classes, and a hostile one."""
    from PIL import Image

    for label in ("x", "y"):
        (place / "images" / label).mkdir(parents=True)
        for i in range(20):
            pixels = np.full((8, 8), 10 * i, np.uint8)
            Image.fromarray(pixels).save(place / "images" / label / f"{i}.png")
    _write(place / "images" / "x", name, content)
    rows = [f"{label}/{i}.png,{'y' if label == 'x' else 'x'}" for label in "xy" for i in range(20)]
    _write(place / "images", "labels.csv", "file,not\n" + "\n".join(rows) + f"\nx/{name},y\n")
    return place / "images"


def _png(width, height, depth=8, data=b""):
    def chunk(kind, body):
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", width, height, depth, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


def postscript(place, rng):
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n(%pipe%true) (w) file\n"
    return _images(place, eps, str(rng.choice(["p.png", "p.jpg", "p.tif"])))


def huge_png(place, rng):
    return _images(place, _png(40_000, 40_000, data=zlib.compress(bytes(10**6))))


def large_png(place, rng):
    return _images(place, _png(7000, 7000, data=zlib.compress(bytes(7001 * 7000), 9)))


def sixteen_bits(place, rng):
    return _images(place, _png(8, 8, 16, zlib.compress((b"\0" + bytes(16)) * 8)))


def truncated_png(place, rng):
    whole = _png(64, 64, data=zlib.compress(bytes(65 * 64)))
    return _images(place, whole[: rng.integers(len(whole))])


def float_tiff(place, rng):
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.full((8, 8), 0.5, np.float32)).save(buffer, "TIFF")
    return _images(place, buffer.getvalue(), "f.tif")


def random_image(place, rng):
    start = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"BM", b"GIF89a", b"RIFF", b"II*\0", b""]
    return _images(place, start[rng.integers(len(start))] + rng.bytes(3000))


def other_formats(place, rng):
    from PIL import Image

    kinds = ("PPM", "TGA", "ICO", "PCX", "SGI")
    buffer = io.BytesIO()
    Image.fromarray(np.zeros((16, 16), np.uint8)).save(buffer, kinds[rng.integers(len(kinds))])
    return _images(place, buffer.getvalue())


ATTACKS = (
    gzip_bomb,
    damaged_table,
    postscript,
    damaged_gzip,
    random_bytes,
    huge_png,
    parquet_bomb,
    nested_parquet,
    late_nulls,
    sixteen_bits,
    many_classes,
    truncated_png,
    npz_bomb,
    npz_objects,
    npz_records,
    npz_no_bytes,
    float_tiff,
    long_cell,
    quotes,
    random_image,
    formulas,
    binary_name,
    other_formats,
    bzip2_bomb,
    large_png,
    many_columns,
    xz_bomb,
)
