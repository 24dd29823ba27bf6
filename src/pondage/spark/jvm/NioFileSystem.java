package pondage;

import java.io.IOException;
import java.nio.file.Files;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's file system for local files, but permissions are set by a system call. Hadoop starts a `chmod` for each,
 * nine for a small table. It must be a LocalFileSystem: Hadoop and Spark ask for one by that name.
 */
public class NioFileSystem extends LocalFileSystem {
    public NioFileSystem() {
        super(new Raw());
    }

    public static class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) throws IOException {
            java.nio.file.Path file = pathToFile(path).toPath();
            try {
                int before = ((Integer) Files.getAttribute(file, "unix:mode")).intValue();
                // As `chmod 755` does: a directory keeps the bits that hand on its group.
                int kept = Files.isDirectory(file) ? before & 06000 : 0;
                Files.setAttribute(file, "unix:mode", Integer.valueOf(kept | (permission.toShort() & 01777)));
            } catch (UnsupportedOperationException e) {
                super.setPermission(path, permission);
            } catch (IllegalArgumentException e) {
                super.setPermission(path, permission);
            }
        }
    }
}
